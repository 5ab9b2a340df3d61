#!lua flags=allow-oom
--- Ends a hold, whatever its count, and wakes the waiters.
-- @key lock hash: one field, holder -> hold count
-- @arg holder string: <session>:<hold number>
-- @arg channel string: where waiters listen, empty to wake nobody
-- @outcome RELEASED receivers:integer
-- @bare RELEASED receivers
-- @outcome GONE
-- @bundle
-- @repeat harmless: the second call answers GONE
-- @include notify
local lock = KEYS[1]
local holder = ARGV[1]
local channel = ARGV[2]

if redis.call('HEXISTS', lock, holder) == 0 then return { GONE } end
redis.call('DEL', lock)
return notify(channel, '0')
