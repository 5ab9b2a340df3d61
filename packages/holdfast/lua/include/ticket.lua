-- A ticket is what a waiting process has stated of itself in the line, as one text. The channel comes last, because the
-- name of the lock may be part of it, and a name may contain spaces.
local function read_ticket(text)
  local holder, echo, lease_ms, claim_ms, fences, fence_ttl_ms, deadline_ms, since_ms, mode, channel =
    string.match(text or '', '^(%S+) (%S+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%a) (.*)$')
  if not holder then return nil end
  return {
    holder = holder,
    echo = echo,
    lease_ms = tonumber(lease_ms),
    claim_ms = tonumber(claim_ms),
    fences = tonumber(fences),
    fence_ttl_ms = tonumber(fence_ttl_ms),
    deadline_ms = tonumber(deadline_ms),
    since_ms = since_ms,
    mode = mode,
    channel = channel,
  }
end

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

-- Tells the first in line who hears to ask, now or after a while.
local function wake_first(line, in_ms)
  local ends = redis.call('HMGET', line, 'first', 'last')
  local first = tonumber(ends[1] or 1)
  for place = first, math.min(tonumber(ends[2] or 0), first + 99) do
    local ticket = read_ticket(redis.call('HGET', line, place))
    if ticket and tell(ticket, string.format('a %s %.0f', ticket.echo, in_ms)) then return end
  end
end
