-- @include line
-- @include ticket
-- @include serve
local PLACES_MAX, READ_MAX = 20000, 256 -- Looked at by one call: twice the tickets of a full line; and read at once.
-- The line begins at the first ticket that was passed over, or at `rest`, the first place that was not looked at. Where the places
-- between have become many, the tickets are moved up to `rest`, so that the next call does not have to pass them again.
local function advance(line, state, passed, rest)
  local first = rest - #passed
  local empty = first - state.first
  if empty < 64 or empty < #passed then
    state.first = passed[1] and passed[1].place or rest
    return
  end
  -- From the last to the first: no ticket is moved to a place that another still has.
  for i = #passed, 1, -1 do
    local from, to, ticket = passed[i].place, first + i - 1, passed[i].ticket
    if from ~= to then
      redis.call('HSET', line, to, write_ticket(ticket), '#' .. ticket.holder, to)
      redis.call('HDEL', line, from)
      if from == state.place then state.place = to end
    end
  end
  state.first = first
end

-- Gives a free key to the first in line whose process hears of it. The caller knows that the key is free.
-- Who does not hear of the grant is passed over and keeps its place. So a process that died costs nothing, and a message
-- that is lost costs no more than its claim. `asker` is the holder that asks right now. Returns 'asker', 'given' with the
-- new owner, or 'blocked', as `serve` does, or
--   'open'    the key is left to guests for a while
--   'nobody'  no ticket hears; the key stays free
-- If `PLACES_MAX` is not the end of the line, the next call gets further.
local function settle(key, fence, line, state, asker, now_ms, now_us)
  if open_ms(state, now_ms) > 0 then return 'open', '' end
  local outcome, owner, passed, front = 'nobody', '', {}, state.first
  local rest, last, size = front, math.min(state.last, front + PLACES_MAX - 1), 1
  while rest <= last and outcome == 'nobody' do
    local places = {}
    for i = 1, math.min(size, last - rest + 1) do places[i] = rest + i - 1 end
    local texts = redis.call('HMGET', line, unpack(places))
    for i = 1, #places do
      local ticket = read_ticket(texts[i])
      local fate = ticket and serve(key, fence, line, places[i], ticket, asker, now_ms, now_us) or 'empty'
      if fate == 'passed' then passed[#passed + 1] = { place = places[i], ticket = ticket } end
      if fate == 'asker' or fate == 'given' or fate == 'gone' then remove(line, state, places[i], ticket.holder) end
      rest = places[i] + (fate == 'blocked' and 0 or 1)
      if fate == 'asker' or fate == 'given' or fate == 'blocked' then
        outcome, owner = fate, ticket.holder
        break
      end
    end
    size = math.min(READ_MAX, 2 * size)
  end
  advance(line, state, passed, rest)
  if outcome == 'asker' then state.place = nil end
  local is_served = outcome == 'asker' or outcome == 'given'
  if is_served then state.run = state.run + 1 end
  if is_served or state.first > front then redis.call('HSET', line, 'first', state.first, 'run', state.run) end
  return outcome, owner
end
