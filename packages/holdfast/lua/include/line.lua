-- @include require-expiry
-- The line of waiters of a name: a hash with a ticket for each process that waits.
--   <place>              a ticket; places grow, and may be empty between the first and the last
--   #<holder>            the place of that holder's ticket
--   first, last          where the line begins and ends
--   open, window         until when a free key is left to guests (server's ms), and how long the last window was (ms)
--   run, since           owners of ours since the key was last left to guests, and when that was (server's ms)
--   guest                when a guest was last seen as the owner (server's ms)
--   linger               who may keep the lock unowned: holder, echo, mode and channel, or nothing
-- These eight are always there, so the number of tickets follows from the number of fields.
local function tickets_in(line)
  return math.max(0, (redis.call('HLEN', line) - 8) / 2)
end

-- Makes a line without tickets, if there is none. It outlives the last word of anybody by a little more than a ticket.
local function keep_line(line, now_ms)
  if redis.call('EXISTS', line) == 0 then
    require_expiry(line, 20000)
    redis.call('HSET', line, 'first', 1, 'last', 0, 'open', 0, 'window', 0, 'run', 0, 'since', now_ms, 'guest', 0, 'linger', '')
  end
  redis.call('PEXPIRE', line, 20000)
end

-- How long a free key is still left to guests. A moment further off than any window is of a clock that was set back.
local function open_ms(line, now_ms)
  local left_ms = tonumber(redis.call('HGET', line, 'open') or 0) - now_ms
  if left_ms > 80 then return 0 end
  return math.max(0, left_ms)
end

-- Takes a holder's ticket out of the line. Returns its place, or nil if it had none, and the place where the line began.
-- If it was the first, the line begins with the next ticket from now on.
local function leave(line, holder)
  local known = redis.call('HMGET', line, '#' .. holder, 'first', 'last')
  local place, first, last = tonumber(known[1] or 0), tonumber(known[2] or 1), tonumber(known[3] or 0)
  if place == 0 then return nil, first end
  redis.call('HDEL', line, place, '#' .. holder)
  if place == first then
    local next_place = place + 1
    while next_place <= last and next_place < place + 1000 and redis.call('HEXISTS', line, next_place) == 0 do
      next_place = next_place + 1
    end
    redis.call('HSET', line, 'first', next_place)
  end
  return place, first
end
