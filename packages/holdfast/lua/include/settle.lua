-- @include line
-- @include ticket
-- @include passed
-- Gives a free key to the first in line whose process hears of it. The caller knows that the key is free.
-- Who does not hear of the grant is passed over and keeps its turn. So a process that died costs nothing, and a message
-- that is lost costs no more than its claim. `asker` is the holder that asks right now, and needs no message. Returns:
--   'asker'   the asker comes first: the caller makes it the owner and takes its ticket out
--   'given'   another ticket's holder is the owner now; that holder is the second result
--   'open'    the key is left to guests for a while
--   'nobody'  no ticket hears; the key stays free
local function settle(key, fence, line, now_ms, now_us, asker)
  if open_ms(line, now_ms) > 0 then return 'open', '' end
  local ends = redis.call('HMGET', line, 'first', 'last', 'run')
  local first, last = tonumber(ends[1] or 1), tonumber(ends[2] or 0)
  local place, passed, outcome, owner = first, {}, 'nobody', ''
  -- Not more steps than this in one call: the next call goes on where this one ends.
  while outcome == 'nobody' and place <= last and place < first + 1000 and #passed < 100 do
    local text = redis.call('HGET', line, place)
    local ticket = read_ticket(text)
    if ticket and ticket.holder == asker then
      outcome, owner = 'asker', asker
      break
    elseif ticket and (ticket.deadline_ms < now_ms or ticket.deadline_ms > now_ms + 60000) then
      -- Its time is over. A deadline that is far off was stated before the clock was set back.
      redis.call('HDEL', line, place, '#' .. ticket.holder)
      tell(ticket, string.format('a %s 0', ticket.echo))
    elseif ticket and ticket.mode == 'n' then
      passed[#passed + 1] = { place = place, holder = ticket.holder, text = text }
    elseif ticket then
      local first_fence, count = make_owner(key, ticket, fence, now_ms, now_us)
      if not first_fence then break end
      if tell(ticket, string.format('g %s %.0f %.0f', ticket.echo, first_fence, count)) then
        redis.call('HDEL', line, place, '#' .. ticket.holder)
        redis.call('HSET', line, 'run', tonumber(ends[3]) + 1)
        outcome, owner = 'given', ticket.holder
      else
        unmake_owner(key, ticket)
        passed[#passed + 1] = { place = place, holder = ticket.holder, text = text }
      end
    end
    place = place + 1
  end
  keep_passed(line, passed, place, first, outcome == 'nobody')
  return outcome, owner
end
