#!lua flags=allow-oom
--- Restarts the lease of each hold that still has its lock. Never re-creates one.
-- @each key lock hash: one field, holder -> hold count
-- @each key fence string: the last fence given out; or the lock's key again: the counter is then left alone
-- @each beside left string: why it was taken away from that holder by force; read only where the lock is gone
-- @each arg holder string: <session>:<hold number>
-- @each arg lease_ms digits, ms
-- @each arg last_fence integer: the last fence of the hold's block
-- @each arg fence_ttl_ms integer, ms: how long the counter outlives the lease and its last fence, 0 for ever
-- @each outcome RENEWED GONE FAILED
-- @each bare REVOKED words
-- @repeat harmless: the lease and the counter are stated, not added to, and never made shorter or lower
-- @include now
-- @include keep-counter
-- @include left-words
local outcomes = {}
local now_ms = server_now()
for i = 1, #KEYS / 2 do
  local lock = KEYS[2 * i - 1]
  local fence = KEYS[2 * i]
  local holder = ARGV[4 * i - 3]
  local lease_ms = ARGV[4 * i - 2]
  local last_fence = tonumber(ARGV[4 * i - 1])
  local fence_ttl_ms = tonumber(ARGV[4 * i])
  local mine = redis.pcall('HEXISTS', lock, holder)
  if mine == 1 then
    -- Never shorter: a request without an answer may arrive late, behind one that stated more.
    mine = redis.pcall('PEXPIRE', lock, lease_ms, 'GT')
    -- The lock has more time left, or has lost its expiry. An expiry is written all the same, because a count of replicas counts
    -- those that have this write.
    if mine == 0 then
      mine = redis.pcall('PEXPIRE', lock, math.max(redis.call('PTTL', lock), tonumber(lease_ms)))
    end
  end
  if mine == 1 then
    outcomes[i] = RENEWED
    keep_counter(fence, last_fence, fence_ttl_ms, now_ms, tonumber(lease_ms))
  elseif mine == 0 or string.sub(mine['err'], 1, 9) == 'WRONGTYPE' then
    local words = left_words(lock, holder)
    outcomes[i] = GONE
    if words then outcomes[i] = 'REVOKED ' .. words end
  else
    outcomes[i] = FAILED
  end
end
return outcomes
