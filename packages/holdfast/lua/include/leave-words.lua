-- @include words-key
-- How long the words stay for an owner whose key had lost its expiry, in ms.
local WORDS_MS = 60000

-- Leaves the words of the operator to an owner that does not listen, and so hears of its loss at its next renewal. An owner renews
-- before the lease that it lost would have ended: the words need stay no longer. Whoever may not write them releases all the same.
local function leave_words(key, owner, words, ttl_ms)
  if words == '' then return end
  local left = words_key(key, owner)
  if ttl_ms == -1 then ttl_ms = WORDS_MS end
  -- The word before them, and its space, tell them from a mutex.
  redis.pcall('SET', left, 'revoked ' .. words, 'PX', math.max(ttl_ms, 1))
end
