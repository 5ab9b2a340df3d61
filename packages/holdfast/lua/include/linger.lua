-- @include line
-- @include ticket
-- A holder that is granted the lock with nobody in line may keep it unowned for a while, if its ticket says so (an `l` behind the
-- mode) and it hears when somebody wants it. Returns how many are in line; 0 also for a holder that does not keep it.
local function keep_unowned(line, holder, ticket, now_ms)
  local echo, mode, channel = string.match(ticket, '^(%S+) %d+ (%a)l (.*)$')
  if not echo then return 0 end
  local tickets = tickets_in(line)
  if tickets > 0 or not redis.acl_check_cmd('PEXPIRE', line, 1) then return math.max(1, tickets) end
  keep_line(line, now_ms)
  redis.call('HSET', line, 'linger', string.format('%s %s %s %s', holder, echo, mode, channel))
  return 0
end

-- Tells an owner that may be keeping the lock unowned that somebody wants it. Told again with each ask.
local function want(line, owner)
  local known = redis.call('HGET', line, 'linger') or ''
  local holder, echo, mode, channel = string.match(known, '^(%S+) (%S+) (%a) (.*)$')
  if holder == owner then tell({ mode = mode, channel = channel }, 'w ' .. echo) end
end
