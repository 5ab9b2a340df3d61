-- @include ticket
-- A deadline further off than this was stated before the clock was set back: no ticket lives for so long.
local DEADLINE_MS_MAX = 60000

-- What becomes of one ticket when the key is free:
--   'asker'    its holder asks right now and needs no message: the caller makes it the owner
--   'given'    its holder is the owner now, and was sent the grant
--   'gone'     it was not stated again in time: its process is told to ask
--   'passed'   its process hears nothing, or waits for another kind and is told to ask: it keeps its place
--   'blocked'  nobody can be made the owner: the user of this script may not, or the counter of fences is no number
local function serve(key, fence, line, place, ticket, asker, now_ms, now_us)
  if ticket.holder == asker then return 'asker' end
  local left_ms = tonumber(ticket.deadline_ms) - now_ms
  if left_ms < 0 or left_ms > DEADLINE_MS_MAX then
    tell(line, place, ticket, string.format('a %s 0', ticket.echo))
    return 'gone'
  end
  if not is_own_kind(ticket) then
    tell(line, place, ticket, string.format('a %s 0', ticket.echo))
    return 'passed'
  end
  if not listens(line, place, ticket) then return 'passed' end
  local first, count = make_owner(key, ticket, fence, now_ms, now_us)
  if not first then return 'blocked' end
  if send(ticket, string.format('g %s %.0f %.0f', ticket.echo, first, count)) then return 'given' end
  -- The user may not publish there: nothing was sent, to nobody.
  unmake_owner(key, ticket)
  return 'passed'
end
