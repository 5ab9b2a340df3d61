-- Whether a hash with one field is a lock. Its count is a whole number; and it expires, as every healthy lock
-- does, or its field is a holder's, as in a lock that lost its expiry. Anything else is somebody's data, and so is
-- what is too long for either.
local function is_lock(field, ttl_ms)
  if #field[1] > 1024 or #field[2] > 15 or not string.match(field[2], '^%d+$') then return false end
  return ttl_ms >= 0 or string.match(field[1], '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') ~= nil
end
