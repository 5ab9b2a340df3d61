-- @include line
-- @include ticket
-- States the ticket of a holder: what it wants now, where it hears of its grant, and that it lives for 15 s more. A holder
-- without a ticket gets one at the end. Returns its place, from 1 (0: the line is full), and how many tickets there are.
-- The place counts from the front; places that others have left are counted too, so it is an upper bound.
local function join(line, holder, wanted, lease_ms, fences, fence_ttl_ms, now_ms)
  local echo, claim_ms, mode, channel = string.match(wanted, '^(%S+) (%d+) (%a)l? (.*)$')
  if not echo then error({ err = 'ERR expected a ticket of four parts' }) end
  keep_line(line, now_ms)
  local tickets = tickets_in(line)
  local place = tonumber(redis.call('HGET', line, '#' .. holder) or 0)
  local since_ms = string.format('%.0f', now_ms)
  if place > 0 then
    local known = read_ticket(redis.call('HGET', line, place))
    if known then since_ms = known.since_ms end
    -- An ask from before the process could hear may arrive late: its process does not go deaf by it.
    if known and mode == 'n' and known.mode ~= 'n' then mode, channel = known.mode, known.channel end
  elseif tickets < 10000 then
    place = tonumber(redis.call('HGET', line, 'last')) + 1
    tickets = tickets + 1
    redis.call('HSET', line, 'last', place, '#' .. holder, place)
  end
  if place == 0 then return 0, tickets end
  local deadline_ms = string.format('%.0f', now_ms + 15000)
  local text = string.format('%s %s %s %s %s %s %s %s %s %s', holder, echo, lease_ms, claim_ms, fences, fence_ttl_ms, deadline_ms, since_ms, mode, channel)
  redis.call('HSET', line, place, text)
  return math.min(place - tonumber(redis.call('HGET', line, 'first')) + 1, tickets), tickets
end
