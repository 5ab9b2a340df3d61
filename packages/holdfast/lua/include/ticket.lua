-- @include read-ticket
-- A ticket is what a waiting process has stated of itself in the line, as one text. The channel comes last, because the
-- name of the lock may be part of it, and a name may contain spaces. Joined by `..`: string.format ends a text at a NUL.
local function write_ticket(ticket)
  local terms = ticket.lease_ms .. ' ' .. ticket.claim_ms .. ' ' .. ticket.fences .. ' ' .. ticket.fence_ttl_ms
  local times = ticket.deadline_ms .. ' ' .. ticket.since_ms
  return ticket.holder .. ' ' .. ticket.echo .. ' ' .. terms .. ' ' .. times .. ' ' .. ticket.mode .. ' ' .. ticket.channel
end

-- Tells the process of a ticket something. Returns whether it was heard. Mode `n`: it does not hear yet. Mode `b`: a plain
-- channel in a cluster, where a server counts the listeners of its own only, so it counts as heard. Of a process that does not
-- listen the ticket says so from now on, until it asks again: it is then passed over without a message.
local function tell(line, place, ticket, message)
  if ticket.mode == 'n' then return false end
  local heard
  if ticket.mode == 's' then
    heard = redis.pcall('SPUBLISH', ticket.channel, message)
  else
    heard = redis.pcall('PUBLISH', ticket.channel, message)
  end
  if type(heard) ~= 'number' then return false end
  if heard > 0 or ticket.mode == 'b' then return true end
  ticket.mode = 'n'
  redis.call('HSET', line, place, write_ticket(ticket))
  return false
end
