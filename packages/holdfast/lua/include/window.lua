-- @include line
-- For how long the key is left to guests at this release; 0: it is not. Guests have no ticket.
-- Those that listen on the public channel are counted: each listener gets its turn after as many owners of ours as there are
-- processes for each listener. The window is 5 ms long, and twice the last one while nobody takes it; such windows take an
-- eleventh of the time at most.
-- Those that poll cannot be seen (`is_polled`): every 40 ms they get a fiftieth of the time, and for a minute after one was seen
-- as the owner an eighth.
local function window_ms(line, listeners, is_polled, now_ms)
  local known = redis.call('HMGET', line, 'window', 'run', 'since', 'guest')
  local last_ms, run = tonumber(known[1]), tonumber(known[2])
  local run_ms = now_ms - tonumber(known[3])
  local is_due = run >= math.max(1, math.floor((tickets_in(line) + 1) / listeners)) and run_ms >= 10 * last_ms
  if listeners > 0 and is_due then return math.min(80, math.max(5, 2 * last_ms)) end
  if is_polled and run_ms >= 40 then
    local was_seen = now_ms - tonumber(known[4]) < 60000
    return math.min(80, math.max(1, math.floor(run_ms / (was_seen and 8 or 50))))
  end
  return 0
end

-- Leaves the free key to guests.
local function open_window(line, length_ms, now_ms)
  redis.call('HSET', line, 'open', now_ms + length_ms, 'window', length_ms, 'run', 0, 'since', now_ms)
end

-- The same where there is no line: guests have heard of the release of a process that nobody of ours waits behind.
local function leave_to_guests(line, now_ms)
  if not redis.acl_check_cmd('PEXPIRE', line, 1) then return end
  keep_line(line, now_ms)
  open_window(line, 5, now_ms)
end

-- A guest has the key: the next window is a short one, and those who poll are given more of them.
local function note_guest(line, now_ms)
  redis.call('HSET', line, 'window', 0, 'guest', now_ms)
end
