-- @include read-ticket
-- Tells the process of a ticket something. Returns whether it was heard. Mode `n`: it does not hear yet. Mode `b`: a plain
-- channel in a cluster, where a server counts the listeners of its own only, so it counts as heard.
local function tell(ticket, message)
  local heard
  if ticket.mode == 's' then
    heard = redis.pcall('SPUBLISH', ticket.channel, message)
  elseif ticket.mode ~= 'n' then
    heard = redis.pcall('PUBLISH', ticket.channel, message)
  end
  if type(heard) ~= 'number' then return false end
  return heard > 0 or ticket.mode == 'b'
end

-- Tells the first in line to ask, now or after a while.
local function wake_first(line, in_ms)
  local first = read_ticket(redis.call('HGET', line, redis.call('HGET', line, 'first') or 1))
  if first then tell(first, string.format('a %s %.0f', first.echo, in_ms)) end
end
