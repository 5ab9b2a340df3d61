-- @include read-ticket
-- A ticket is what a waiting process has stated of itself in the line, as one text. The channel comes last, because the
-- name of the lock may be part of it, and a name may contain spaces. Joined by `..`: string.format ends a text at a NUL.
local function write_ticket(ticket)
  local terms = ticket.lease_ms .. ' ' .. ticket.claim_ms .. ' ' .. ticket.fences .. ' ' .. ticket.fence_ttl_ms
  local times = ticket.deadline_ms .. ' ' .. ticket.since_ms
  return ticket.holder .. ' ' .. ticket.echo .. ' ' .. terms .. ' ' .. times .. ' ' .. ticket.mode .. ' ' .. ticket.channel
end

-- Sends one message to the process of a ticket. Returns how many connections to this server received it; nil if it was not sent.
local function send(ticket, message)
  local received
  if ticket.mode == 's' then
    received = redis.pcall('SPUBLISH', ticket.channel, message)
  else
    received = redis.pcall('PUBLISH', ticket.channel, message)
  end
  if type(received) == 'number' then return received end
end

-- The ticket says from now on that its process does not listen, until that process asks again: it is passed over without a message.
local function mark_deaf(line, place, ticket)
  ticket.mode = 'n'
  redis.call('HSET', line, place, write_ticket(ticket))
end

-- Gives the process of a ticket a hint. Returns whether it was received. Mode `n`: it does not listen yet. Mode `b`: a plain
-- channel in a cluster, where a server counts the listeners of its own only, so it counts as received.
local function tell(line, place, ticket, message)
  if ticket.mode == 'n' then return false end
  local received = send(ticket, message)
  if not received then return false end
  if received > 0 or ticket.mode == 'b' then return true end
  mark_deaf(line, place, ticket)
  return false
end

-- Whether the process of a ticket listens at this server, asked before it is sent a grant. A grant that nobody here receives must
-- not be sent: Redis passes messages on to its replicas, and a process that still listens at one of them would believe it. Where that
-- cannot be asked (mode `b`, or a user without the right), the process counts as listening: what it is granted stays granted.
local function listens(line, place, ticket)
  if ticket.mode == 'n' then return false end
  if ticket.mode == 'b' then return true end
  local counted
  if ticket.mode == 's' then
    counted = redis.pcall('PUBSUB', 'SHARDNUMSUB', ticket.channel)
  else
    counted = redis.pcall('PUBSUB', 'NUMSUB', ticket.channel)
  end
  if counted[2] ~= 0 then return true end
  mark_deaf(line, place, ticket)
  return false
end
