-- Who has a mutex, as others are told: a digest, because the value itself is the right to release it. Not a string for
-- what is too long to be a token: it is somebody's data, and is not read.
local function mutex_owner(mutex)
  if redis.call('STRLEN', mutex) > 1024 then return nil end
  return redis.sha1hex(redis.call('GET', mutex))
end
