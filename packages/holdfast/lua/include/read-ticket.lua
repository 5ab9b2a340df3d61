-- A ticket, as `write_ticket` writes it (include/ticket.lua). Its numbers stay digits, as a number would be written as
-- 1.79e+15. Nil for what is no ticket; its place is then empty.
local function read_ticket(text)
  local holder, echo, lease_ms, claim_ms, fences, fence_ttl_ms, deadline_ms, since_ms, mode, channel =
    string.match(text or '', '^(%S+) (%S+) (%d+) ([1-9]%d*) ([1-9]%d*) (%d+) (%d+) (%d+) (%a) (.*)$')
  if not holder or #claim_ms > 12 or #fences > 9 then return nil end
  return {
    holder = holder,
    echo = echo,
    lease_ms = lease_ms,
    claim_ms = claim_ms,
    fences = fences,
    fence_ttl_ms = fence_ttl_ms,
    deadline_ms = deadline_ms,
    since_ms = since_ms,
    mode = mode,
    channel = channel,
  }
end
