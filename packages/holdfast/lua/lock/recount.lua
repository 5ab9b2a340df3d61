#!lua flags=allow-oom
--- States how many times a hold is entered, and never shortens its lease.
-- @key lock hash: one field, holder -> hold count
-- @arg holder string: <session>:<hold number>
-- @arg count digits: the count from now on
-- @arg lease_ms integer, ms: the least time left afterwards
-- @outcome COUNTED
-- @outcome GONE
-- @repeat harmless: the count is stated, not added
local lock = KEYS[1]
local holder = ARGV[1]
local count = ARGV[2]
local lease_ms = tonumber(ARGV[3])

if redis.call('HEXISTS', lock, holder) == 0 then return { GONE } end
redis.call('HSET', lock, holder, count)
if redis.call('PTTL', lock) < lease_ms then redis.call('PEXPIRE', lock, lease_ms) end
return { COUNTED }
