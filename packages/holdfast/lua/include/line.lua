-- @include require-expiry
-- A line outlives the last word of anybody by a little more than a ticket does.
local LINE_MS = 20000
-- The longest window for guests: a poller that tries ten times a second meets most of them.
local WINDOW_MS_MAX = 80

-- The line of waiters of a name: a hash with a ticket for each process that waits.
--   <place>              a ticket; places grow, and may be empty between the first and the last
--   #<holder>            the place of that holder's ticket
--   first, last          where the line begins and ends
--   open, window         until when a free key is left to guests (server's ms), and how long the last window was (ms); 0 once a guest
--                        took it, and 1 less for each turn of guests of a lock that has ended since
--   run, since           owners of ours since the key was last left to guests, and when that was (server's ms)
--   guest                when a guest was last seen as the owner of a mutex (server's ms)
--   linger               who may keep the lock unowned: holder, echo, mode and channel, or nothing
-- The eight fields from `first` to `linger` are always there, so the number of tickets follows from the number of fields.
-- Returns the first seven as numbers, with the number of tickets and the place of one holder. Nil where there is no line; the second
-- result then says what stands there instead, if that is no hash. A hash that lacks one of those is of no use and is
-- deleted: its waiters ask again and get new places.
local function read_line(line, holder)
  local fields = redis.pcall('HLEN', line)
  if type(fields) == 'table' then
    if not string.match(fields['err'], '^WRONGTYPE') then error(fields) end
    return nil, 'something else under the key of its line of waiters'
  end
  if fields == 0 then return nil end
  local own = '#' .. holder
  local found = redis.call('HMGET', line, 'first', 'last', 'open', 'window', 'run', 'since', 'guest', 'linger', own)
  local state = { place = tonumber(found[9]), tickets = math.max(0, math.floor((fields - 8) / 2)) }
  state.first, state.last, state.open = tonumber(found[1]), tonumber(found[2]), tonumber(found[3])
  state.window, state.run = tonumber(found[4]), tonumber(found[5])
  state.since, state.guest = tonumber(found[6]), tonumber(found[7])
  local is_whole = found[8] and state.first and state.last and state.open and state.window and state.run and state.since
  if is_whole and state.guest then return state end
  redis.call('DEL', line)
  return nil
end

-- Makes a line without tickets, with `linger` or nothing.
local function new_line(line, now_ms, linger)
  require_expiry(line, LINE_MS)
  local counts = { 'first', 1, 'last', 0, 'open', 0, 'window', 0, 'run', 0, 'since', now_ms, 'guest', 0 }
  redis.call('HSET', line, 'linger', linger, unpack(counts))
  redis.call('PEXPIRE', line, LINE_MS)
  return { tickets = 0, first = 1, last = 0, open = 0, window = 0, run = 0, since = now_ms, guest = 0 }
end

-- How long a free key is still left to guests. A moment further off than any window is of a clock that was set back.
local function open_ms(state, now_ms)
  local left_ms = state.open - now_ms
  if left_ms > WINDOW_MS_MAX then return 0 end
  return math.max(0, left_ms)
end

-- Takes a ticket out of the line.
local function remove(line, state, place, holder)
  redis.call('HDEL', line, place, '#' .. holder)
  state.tickets = state.tickets - 1
end
