#!lua flags=allow-oom
--- Restarts the lease of each mutex that still holds its token. Never re-creates one.
-- @each key mutex string: the owner's token
-- @each beside left string: why it was taken away from that holder by force; read only where the mutex is gone
-- @each arg token string: random, one per hold
-- @each arg lease_ms digits, ms
-- @each outcome RENEWED GONE FAILED
-- @each bare REVOKED words
-- @repeat harmless: the lease is stated, not added, and never made shorter
-- @include left-words
local outcomes = {}
for i = 1, #KEYS do
  local mutex = KEYS[i]
  local token = ARGV[2 * i - 1]
  local lease_ms = ARGV[2 * i]
  local owner = redis.pcall('GET', mutex)
  if owner == token then
    -- Never shorter: a request without an answer may arrive late, behind one that stated more.
    owner = redis.pcall('PEXPIRE', mutex, lease_ms, 'GT')
    -- The mutex has more time left, or has lost its expiry. An expiry is written all the same, because a count of replicas counts
    -- those that have this write.
    if owner == 0 then
      owner = redis.pcall('PEXPIRE', mutex, math.max(redis.call('PTTL', mutex), tonumber(lease_ms)))
    end
  end
  if owner == 1 then
    outcomes[i] = RENEWED
  elseif type(owner) ~= 'table' or string.sub(owner['err'], 1, 9) == 'WRONGTYPE' then
    local words = left_words(mutex, redis.sha1hex(token))
    outcomes[i] = GONE
    if words then outcomes[i] = 'REVOKED ' .. words end
  else
    outcomes[i] = FAILED
  end
end
return outcomes
