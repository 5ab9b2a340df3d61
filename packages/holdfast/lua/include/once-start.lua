-- @include is-lock
-- @include conflict
-- @include require-expiry
-- The time left of a lock, -2 if there is none, and its owner; or, third, what stands there instead.
local function lock_of(lock)
  local ttl_ms = redis.call('PTTL', lock)
  if ttl_ms == -2 then return ttl_ms end
  local field = redis.pcall('HGETALL', lock)
  if field['err'] then return ttl_ms, nil, found_instead(field, lock) end
  if #field ~= 2 or not is_lock(field, ttl_ms) then return ttl_ms, nil, 'a hash that is not a lock' end
  return ttl_ms, field[1]
end

-- A start that is asked for again by its own holder: the lock is left as the first call left it, and never for less time. Nobody
-- else has had the lock since, or the record would have another owner.
local function extend(lock, holder, lease_ms, ttl_ms)
  require_expiry(lock, lease_ms)
  if ttl_ms == -2 then redis.call('HSET', lock, holder, '1') end
  if ttl_ms < tonumber(lease_ms) then redis.call('PEXPIRE', lock, lease_ms) end
end

-- No further run may start: after a thrown error that is its failure, after a run that ended without a word it was
-- abandoned. Without an owner: a run that comes back late must not be told that its result is stored.
local function use_up(record, kept, keep_ms)
  local reason = kept.state == 'idle' and 'failed' or 'abandoned'
  require_expiry(record, keep_ms)
  redis.call('HSET', record, 'state', 'failed', 'owner', '', 'reason', reason)
  redis.call('PEXPIRE', record, keep_ms)
  return reason, kept.payload
end

local function start(record, holder, attempt, fence, print, ttl_ms)
  redis.call('HSET', record, 'state', 'running', 'owner', holder, 'attempt', attempt, 'fence', fence, 'print', print,
    'reason', '', 'payload', '')
  redis.call('PEXPIRE', record, ttl_ms)
end
