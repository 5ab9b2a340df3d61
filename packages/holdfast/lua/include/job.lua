-- @include conflict
-- @include is-lock
-- The marker of a job; what is in its place if that is none. Numbers that are missing are 0, words are empty.
local function read_job(job)
  local fields = redis.pcall('HMGET', job, 'slot', 'state', 'attempt', 'owner', 'fence', 'host', 'free', 'spec')
  if fields['err'] then return nil, found_instead(fields, job) end
  local words = {}
  for i = 1, 8 do words[i] = fields[i] or '' end
  return {
    slot = tonumber(words[1]) or 0,
    state = words[2],
    attempt = tonumber(words[3]) or 0,
    owner = words[4],
    fence = tonumber(words[5]) or 0,
    host = words[6],
    free = tonumber(words[7]) or 0,
    spec = words[8],
  }
end

-- Who has the lock of a job and for how long; nil when it is free; what is in its place if that is no lock.
local function lock_owner(lock)
  local ttl_ms = redis.call('PTTL', lock)
  if ttl_ms == -2 then return nil, 0 end
  local fields = redis.pcall('HLEN', lock)
  if type(fields) == 'table' then return nil, 0, found_instead(fields, lock) end
  local field = redis.call('HGETALL', lock)
  if fields ~= 1 or not is_lock(field, ttl_ms) then return nil, 0, 'a hash that is not a lock' end
  return field[1], ttl_ms
end
