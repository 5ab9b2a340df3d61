#!lua flags=allow-oom
--- States how many times a hold is entered, and never shortens its lease. A fixed lease it never prolongs either.
-- @key lock hash: one field, holder -> hold count
-- @arg holder string: <session>:<hold number>
-- @arg count digits: the count from now on
-- @arg lease_ms integer, ms: the least time left afterwards, unless the lease is fixed
-- @arg fixed integer: 1 to leave the time left as it is, 0 to make it lease_ms at least
-- @outcome COUNTED
-- @outcome GONE
-- @repeat harmless: the count is stated, not added
local lock = KEYS[1]
local holder = ARGV[1]
local count = ARGV[2]
local lease_ms = tonumber(ARGV[3])
local fixed = tonumber(ARGV[4])

if redis.call('HEXISTS', lock, holder) == 0 then return { GONE } end
redis.call('HSET', lock, holder, count)
local ttl_ms = redis.call('PTTL', lock)
-- An expiry that somebody took away is put back in any case: no lock stays without one.
if ttl_ms == -1 or (fixed == 0 and ttl_ms < lease_ms) then redis.call('PEXPIRE', lock, lease_ms) end
return { COUNTED }
