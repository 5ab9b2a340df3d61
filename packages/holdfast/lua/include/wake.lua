-- @include line
-- @include ticket
-- Tells the first in line who hears to ask, now or after a while. Of more places than these the line itself is asked
-- soon enough: the more who wait, the more often one of them asks.
local function wake(line, state, in_ms)
  for place = state.first, math.min(state.last, state.first + 255) do
    local ticket = read_ticket(redis.call('HMGET', line, place)[1])
    if ticket and tell(line, place, ticket, string.format('a %s %.0f', ticket.echo, in_ms)) then return end
  end
end
