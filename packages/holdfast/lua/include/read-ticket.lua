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
