-- @include now
-- @include line
-- @include settle
-- @include wake
-- @include window
-- @include listeners
-- @include notify
-- Takes the holder's ticket out of the line. Returns whether it was among the first two. If it was the first, the line begins
-- with the next ticket from now on, so that whoever comes first then is told so.
local function leave(line, state, holder)
  local place, front = state.place, state.first
  state.place = nil
  remove(line, state, place, holder)
  if place ~= front then return place == front + 1 end
  local first = place + 1
  while first <= state.last and first < front + 1000 and redis.call('HEXISTS', line, first) == 0 do first = first + 1 end
  state.first = first
  redis.call('HSET', line, 'first', first)
  return true
end

-- What follows in the line when a holder has gone: its ticket goes, and a key that is free now is left to guests for a moment, or
-- given to the first who hears, or offered to everybody. Returns how many heard the offer, and whether there was a ticket;
-- nil where there is no line. `is_polled` is nil where guests get no turn. It may fail where a user lacks rights: its caller has released by then, and catches that.
local function go_on(key, fence, line, holder, was_owner, mode, channel, is_polled)
  local state = read_line(line, holder)
  if not state then return nil end
  local now_ms, now_us = server_now()
  local was_waiting = state.place ~= nil
  local was_front = was_waiting and leave(line, state, holder)
  if redis.call('PTTL', key) ~= -2 then
    -- Whoever is first listens to guests too, and hears of its place by asking. A key that our release did not free holds
    -- something else: all are told, and the first to ask says so.
    if was_owner or was_front then wake(line, state, 0) end
    return was_owner and notify(mode, channel, '0') or 0, was_waiting
  end
  local length_ms = was_owner and is_polled ~= nil and window_ms(state, mode, channel, is_polled, now_ms) or 0
  if length_ms > 0 then
    open_window(line, length_ms, now_ms)
    local heard = notify(mode, channel, '0')
    -- Guests of a lock publish their releases. The first in line is told at once, so that it listens and counts them: after this
    -- offer, which is no release of theirs.
    wake(line, state, is_polled and length_ms or 0)
    return heard, was_waiting
  end
  local outcome = settle(key, fence, line, state, '', now_ms, now_us)
  if outcome == 'given' then return 0, was_waiting end
  -- The one that was told to ask at the end of the window may be the one that left.
  if outcome == 'open' then wake(line, state, open_ms(state, now_ms)) end
  if outcome == 'blocked' then wake(line, state, 0) end
  local heard = was_owner and notify(mode, channel, '0') or 0
  if heard == 0 and state.tickets == 0 and outcome == 'nobody' then redis.pcall('DEL', line) end
  return heard, was_waiting
end
