-- @include line
-- @include ticket
-- A ticket lives for three times the longest pause between two asks of its process.
local TICKET_MS = 15000
-- The most tickets of a line, which are a few megabytes. A process that comes when the line is full gets no place, and asks at the
-- longest pause.
local TICKETS_MAX = 10000

-- The place of the holder in the line, from 1; 0: it has none. Places that others have left are counted too, so that it is
-- an upper bound.
local function place_of(state)
  if not state.place then return 0 end
  return math.max(1, math.min(state.place - state.first + 1, state.tickets))
end

-- States the ticket of a holder: what it wants now, where it hears of its grant, and that it lives for `TICKET_MS` more. A holder
-- without a ticket gets one at the end, unless the line is full. Returns the line, which it makes if there is none.
-- `wanted` is `<echo> <claim in ms> <heard><mode><l> <channel>`: how many releases of guests were heard since the last ask, if any, and
-- `l` if the holder may keep an idle lock unowned. What others than the first have heard, or after an owner of ours, does not count.
local function join(line, state, holder, wanted, lease_ms, fences, fence_ttl_ms, now_ms)
  local echo, claim_ms, heard, mode, channel = string.match(wanted, '^(%S+) (%d+) (%d?%d?)(%a)l? (.*)$')
  if not echo then error({ err = 'ERR expected a ticket of four parts' }) end
  state = state or new_line(line, now_ms, '')
  local ticket = { holder = holder, echo = echo, lease_ms = lease_ms, claim_ms = claim_ms, mode = mode, channel = channel }
  ticket.fences, ticket.fence_ttl_ms = string.format('%.0f', fences), string.format('%.0f', fence_ttl_ms)
  ticket.deadline_ms, ticket.since_ms = string.format('%.0f', now_ms + TICKET_MS), string.format('%.0f', now_ms)
  if state.place then
    local known = read_ticket(redis.call('HMGET', line, state.place)[1])
    if known then ticket.since_ms = known.since_ms end
    -- An ask from before the process could hear may arrive late: its process does not go deaf by it.
    if known and mode == 'n' then ticket.mode, ticket.channel = known.mode, known.channel end
    redis.call('HSET', line, state.place, write_ticket(ticket))
  elseif state.tickets < TICKETS_MAX then
    state.place, state.last, state.tickets = state.last + 1, state.last + 1, state.tickets + 1
    redis.call('HSET', line, state.place, write_ticket(ticket), '#' .. holder, state.place, 'last', state.place)
  end
  state.is_deaf = ticket.mode == 'n'
  state.heard = state.run == 0 and place_of(state) == 1 and tonumber(heard) or 0
  redis.call('PEXPIRE', line, LINE_MS)
  return state
end
