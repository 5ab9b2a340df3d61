-- @include line
-- @include ticket
-- @include settle
-- @include window
-- @include listeners
-- @include notify
-- What follows in the line when a holder has gone: its ticket goes, and a key that is free now is left to guests for a moment, or
-- given to the first who hears, or offered to everybody. Returns how many heard the offer, and whether there was a ticket.
local function go_on(key, fence, line, holder, is_free, was_owner, mode, channel, is_polled, now_ms, now_us)
  local place, first = leave(line, holder)
  if not is_free then
    -- The next in line listens to the public channel only while it is among the first two.
    if place and place <= first + 1 then wake_first(line, 0) end
    return 0, place ~= nil
  end
  local length_ms = was_owner and window_ms(line, listeners_of(mode, channel), is_polled, now_ms) or 0
  if length_ms > 0 then
    open_window(line, length_ms, now_ms)
    wake_first(line, length_ms)
    return notify(mode, channel, '0'), place ~= nil
  end
  local outcome = settle(key, fence, line, now_ms, now_us, '')
  -- The one who left was to come back after the window: now the next is.
  if outcome == 'open' and place and place <= first + 1 then wake_first(line, open_ms(line, now_ms)) end
  if outcome ~= 'nobody' then return 0, place ~= nil end
  local heard = notify(mode, channel, '0')
  if heard == 0 and tickets_in(line) == 0 then redis.call('DEL', line) end
  return heard, place ~= nil
end
