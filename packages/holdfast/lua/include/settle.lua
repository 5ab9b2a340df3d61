-- @include line
-- @include ticket
-- Gives a free key to the first in line whose process hears of it. The caller knows that the key is free.
-- Who does not hear of the grant is passed over and keeps its place. So a process that died costs nothing, and a message
-- that is lost costs no more than its claim. `asker` is the holder that asks right now, and needs no message. Returns:
--   'asker'   the asker comes first: the caller makes it the owner and takes its ticket out
--   'given'   another ticket's holder is the owner now; that holder is the second result
--   'open'    the key is left to guests for a while
--   'nobody'  no ticket hears; the key stays free
local function settle(key, fence, line, now_ms, now_us, asker)
  if open_ms(line, now_ms) > 0 then return 'open', '' end
  local ends = redis.call('HMGET', line, 'first', 'last', 'run')
  local front, last = tonumber(ends[1] or 1), tonumber(ends[2] or 0)
  local outcome, owner = 'nobody', ''
  -- Not more steps than this in one call: the next call goes on behind the places that were found empty.
  for place = front, math.min(last, front + 15) do
    local ticket = read_ticket(redis.call('HGET', line, place))
    local is_asker = ticket and ticket.holder == asker
    -- A deadline that is far off was stated before the clock was set back.
    local is_dead = ticket and (ticket.deadline_ms < now_ms or ticket.deadline_ms > now_ms + 60000)
    if is_asker then
      outcome, owner = 'asker', asker
    elseif is_dead then
      redis.call('HDEL', line, place, '#' .. ticket.holder)
      tell(ticket, string.format('a %s 0', ticket.echo))
    elseif ticket and ticket.mode ~= 'n' then
      local first, count = make_owner(key, ticket, fence, now_ms, now_us)
      if not first then break end
      if tell(ticket, string.format('g %s %.0f %.0f', ticket.echo, first, count)) then
        redis.call('HDEL', line, place, '#' .. ticket.holder)
        redis.call('HSET', line, 'run', tonumber(ends[3]) + 1)
        outcome, owner = 'given', ticket.holder
      else
        unmake_owner(key, ticket)
      end
    end
    if place == front and (not ticket or is_dead or outcome == 'given') then front = place + 1 end
    if outcome ~= 'nobody' then break end
  end
  if front > tonumber(ends[1] or 1) then redis.call('HSET', line, 'first', front) end
  return outcome, owner
end
