-- The line of waiters of a name: a hash with a ticket for each process that waits.
--   <place>              a ticket; places grow, and may be empty between the first and the last
--   #<holder>            the place of that holder's ticket
--   first, last          where the line begins and ends
--   open, window         until when a free key is left to guests (server's ms), and how long the last window was (ms)
--   run, since           owners of ours since the key was last left to guests, and when that was (server's ms)
--   guest                when a guest was last seen as the owner (server's ms)
-- These seven are always there, so the number of tickets follows from the number of fields.
local function tickets_in(line)
  return math.max(0, (redis.call('HLEN', line) - 7) / 2)
end

-- How long a free key is still left to guests. A moment further off than any window is of a clock that was set back.
local function open_ms(line, now_ms)
  local left_ms = tonumber(redis.call('HGET', line, 'open') or 0) - now_ms
  if left_ms > 80 then return 0 end
  return math.max(0, left_ms)
end
