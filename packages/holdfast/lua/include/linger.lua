-- @include line
-- A holder that is granted the lock with nobody in line may keep it unowned for a while, if its ticket says so (an `l` behind the
-- mode) and it hears when somebody wants it. Returns how many are in line; 0 also for a holder that does not keep it.
local function keep_unowned(line, state, holder, ticket, now_ms)
  local echo, mode, channel = string.match(ticket, '^(%S+) %d+ %d*(%a)l (.*)$')
  if not echo or mode == 'n' then return 0 end
  local tickets = state and state.tickets or 0
  -- The grant is written: it must not fail for this.
  local may_write = redis.acl_check_cmd('PEXPIRE', line, LINE_MS) and redis.acl_check_cmd('HSET', line, 'linger', '')
  if tickets > 0 or not may_write then return math.max(1, tickets) end
  local keeper = holder .. ' ' .. echo .. ' ' .. mode .. ' ' .. channel
  if state then
    redis.call('HSET', line, 'linger', keeper)
    redis.call('PEXPIRE', line, LINE_MS)
  else
    new_line(line, now_ms, keeper)
  end
  return 0
end

-- Tells an owner that may be keeping the lock unowned that somebody wants it. Told again with each ask.
local function want(line, owner)
  local known = redis.pcall('HMGET', line, 'linger')
  local holder, echo, mode, channel = string.match(known[1] or '', '^(%S+) (%S+) (%a) (.*)$')
  if holder ~= owner then return end
  if mode == 's' then
    redis.pcall('SPUBLISH', channel, 'w ' .. echo)
  else
    redis.pcall('PUBLISH', channel, 'w ' .. echo)
  end
end
