-- @include words-key
-- Why an operator took the key away from that owner; nil where nobody said, or where it cannot be read. Only for an owner that the
-- key is gone from: words alone say nothing of a lock.
local function left_words(key, owner)
  local left = words_key(key, owner)
  local words = redis.pcall('GET', left)
  -- Nothing of ours is longer than 500 characters of up to three bytes. It may be a table, with the error of a refused GET.
  if type(words) ~= 'string' or #words > 2048 or string.sub(words, 1, 8) ~= 'revoked ' then return nil end
  return string.sub(words, 9)
end
