#!lua
--- Says who a session is, for those who look at the locks that it holds.
-- @key record hash: application, host, pid
-- @arg application string: what the program calls itself
-- @arg host string: the name of its machine
-- @arg pid digits: the number of its process there
-- @arg ttl_ms digits, ms: how long the record outlives the last word of its session
-- @outcome RENEWED
-- @repeat harmless: the record is stated whole
-- @include require-expiry
local record = KEYS[1]
local application = ARGV[1]
local host = ARGV[2]
local pid = ARGV[3]
local ttl_ms = ARGV[4]

require_expiry(record, ttl_ms)
redis.call('HSET', record, 'application', application, 'host', host, 'pid', pid)
redis.call('PEXPIRE', record, ttl_ms)
return { RENEWED }
