-- @include line
-- @include ticket
-- Places that are looked at for somebody to tell.
local TOLD_MAX = 256

-- Tells the first in line who hears to ask, now or after a while. Of more places than these the line itself is asked
-- soon enough: the more who wait, the more often one of them asks.
local function wake(line, state, in_ms)
  for place = state.first, math.min(state.last, state.first + TOLD_MAX - 1) do
    local ticket = read_ticket(redis.call('HMGET', line, place)[1])
    if ticket and tell(line, place, ticket, string.format('a %s %.0f', ticket.echo, in_ms)) then return end
  end
end
