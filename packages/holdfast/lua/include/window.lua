-- @include now
-- @include line
-- @include listeners
-- For how long the key is left to guests at this release; 0: it is not. Guests have no ticket.
-- Those that listen on the public channel are counted: each listener gets its turn after as many owners of ours as there are
-- processes for each listener. The window is 5 ms long, and twice the last one while nobody takes it; such windows take an
-- eleventh of the time at most.
-- Those that poll cannot be seen (`is_polled`): every 40 ms they get a fiftieth of the time, and for a minute after one was seen
-- as the owner an eighth; nothing while nobody of ours waits, because the key is free then.
local function window_ms(state, mode, channel, is_polled, now_ms)
  local run_ms, unseen_ms = now_ms - state.since, now_ms - state.guest
  -- The clock was set back: as long as is enough after the longest window.
  if run_ms < 0 then run_ms = 800 end
  if state.run > 0 and run_ms >= 10 * state.window then
    local listeners = listeners_of(mode, channel)
    local is_due = listeners > 0 and state.run >= math.floor((state.tickets + 1) / listeners)
    if is_due then return math.min(80, math.max(5, 2 * state.window)) end
  end
  if is_polled and state.tickets > 0 and run_ms >= 40 then
    local share = unseen_ms >= 0 and unseen_ms < 60000 and 8 or 50
    return math.min(80, math.max(1, math.floor(run_ms / share)))
  end
  return 0
end

-- Leaves the free key to guests.
local function open_window(line, length_ms, now_ms)
  redis.call('HSET', line, 'open', now_ms + length_ms, 'window', length_ms, 'run', 0, 'since', now_ms)
end

-- The same where there is no line: guests have heard of the release of a process that nobody of ours waits behind.
local function leave_to_guests(key, line)
  if redis.call('PTTL', key) ~= -2 then return end
  local now_ms = server_now()
  new_line(line, now_ms, '')
  open_window(line, 5, now_ms)
end

-- A guest has the key: the next window is a short one, and those who poll are given more of them.
local function note_guest(line, now_ms)
  redis.call('HSET', line, 'window', 0, 'guest', now_ms)
end
