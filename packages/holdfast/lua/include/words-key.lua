-- Where the words stand that a lock or a mutex was taken away with by force: for each owner a key of its own, in the slot of what it
-- lost. So no owner is told what was meant for another. `owner` is as inspect shows it: of a mutex a digest.
local function words_key(key, owner)
  local tagged = string.match(key, '{') and key or '{' .. key .. '}'
  return 'holdfast_revoked:' .. tagged .. ':' .. owner
end
