-- @include settle
-- @include join
-- Who asks for a free key that has a line: the asker takes it if nobody comes before it. Returns whether it does; otherwise its
-- place, how many are in line, and who was given the key instead, if anybody.
-- Without a ticket (a caller that only tries) it takes the key only where nobody in line hears.
local function take_turn(key, fence, line, holder, ticket, lease_ms, fences, fence_ttl_ms, now_ms, now_us)
  local place, tickets = 0, 0
  if ticket ~= '' then place, tickets = join(line, holder, ticket, lease_ms, fences, fence_ttl_ms, now_ms) end
  local outcome, owner = settle(key, fence, line, now_ms, now_us, holder)
  if outcome == 'given' or outcome == 'open' or (outcome == 'nobody' and place > 0) then
    return false, place, tickets, owner
  end
  leave(line, holder)
  redis.call('HSET', line, 'run', tonumber(redis.call('HGET', line, 'run') or 0) + 1)
  return true, 0, 0, ''
end
