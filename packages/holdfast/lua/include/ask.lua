-- @include line
-- @include join
-- @include settle
-- Asks for a free key that has a line: the holder takes its place, unless its ticket is empty, and the line is settled. Returns whether
-- the holder has to wait, and who is the owner, if the key was given to somebody. The holder need not wait if it comes first. Without a
-- ticket it need not wait if nobody hears. Nor if nobody can be made the owner: it then meets the reason itself.
local function must_wait(key, fence, line, state, holder, ticket, lease_ms, fences, fence_ttl_ms, now_ms, now_us)
  if not state then return false, '' end
  -- Nobody waits: no place is needed.
  if state.tickets == 0 and open_ms(state, now_ms) == 0 then
    redis.call('HSET', line, 'run', state.run + 1)
    return false, ''
  end
  if ticket ~= '' then join(line, state, holder, ticket, lease_ms, fences, fence_ttl_ms, now_ms) end
  -- Who cannot be told of its turn listens with the guests, is woken with them, and may take what is left to them.
  if state.is_deaf and state.place and open_ms(state, now_ms) > 0 then
    remove(line, state, state.place, holder)
    state.place, state.open = nil, 0
    redis.call('HSET', line, 'open', 0, 'window', 0)
    return false, ''
  end
  local outcome, owner = settle(key, fence, line, state, holder, now_ms, now_us)
  if outcome == 'nobody' and not state.place then
    redis.call('HSET', line, 'run', state.run + 1)
    return false, ''
  end
  return outcome ~= 'asker' and outcome ~= 'blocked', owner
end
