#!lua flags=allow-oom
--- States how many times a hold is entered, and never shortens its lease. A fixed lease it never prolongs either.
-- @key lock hash: one field, holder -> hold count
-- @key fence string: the last fence given out; or the lock's key again: the counter is then left alone
-- @beside left string: why it was taken away from that holder by force; read only where the lock is gone
-- @arg holder string: <session>:<hold number>
-- @arg count digits: the count from now on
-- @arg lease_ms integer, ms: the least time left afterwards, unless the lease is fixed
-- @arg fixed integer: 1 to leave the time left as it is, 0 to make it lease_ms at least
-- @arg last_fence integer: the last fence of the hold's block
-- @arg fence_ttl_ms integer, ms: how long the counter outlives the lease and its last fence, 0 for ever
-- @outcome COUNTED
-- @outcome GONE
-- @outcome REVOKED words:string
-- @repeat harmless: the count is stated, not added
-- @include now
-- @include keep-counter
-- @include left-words
local lock = KEYS[1]
local fence = KEYS[2]
local holder = ARGV[1]
local count = ARGV[2]
local lease_ms = tonumber(ARGV[3])
local fixed = tonumber(ARGV[4])
local last_fence = tonumber(ARGV[5])
local fence_ttl_ms = tonumber(ARGV[6])

if redis.call('HEXISTS', lock, holder) == 0 then
  local words = left_words(lock, holder)
  if words then return { REVOKED, words } end
  return { GONE }
end
local ttl_ms = redis.call('PTTL', lock)
-- The lease first: a user that may not set it leaves the count as it is. An expiry that somebody took away is put back
-- in any case: no lock stays without one.
if ttl_ms == -1 or (fixed == 0 and ttl_ms < lease_ms) then
  redis.call('PEXPIRE', lock, lease_ms)
  local now_ms = server_now()
  keep_counter(fence, last_fence, fence_ttl_ms, now_ms, lease_ms)
end
redis.call('HSET', lock, holder, count)
return { COUNTED }
