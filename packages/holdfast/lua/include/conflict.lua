-- After a command that failed: what stands under the key, if it is of another type than the command wants. Any other
-- failure is none of this and is raised again. The type is for a message, so a user that may not ask for it does without.
local function found_instead(failure, key)
  if not string.match(failure['err'], '^WRONGTYPE') then error(failure) end
  local found = redis.pcall('TYPE', key)
  if found['err'] then return 'a value of another type' end
  return 'a ' .. found['ok']
end
