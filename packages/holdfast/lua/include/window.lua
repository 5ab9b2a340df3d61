-- @include now
-- @include line
-- @include listeners
-- The bounds of a run of hand-offs between processes of ours. Guests that listen get a window of this length: a round trip or two.
local WINDOW_MS_MIN = 5
-- Windows for guests that listen take an eleventh of the time at most: a run is this many times as long as the last window.
local RUN_WINDOWS = 10
-- Guests that poll get a window once a run has lasted this long: of a fiftieth of the run, because nobody may be polling, and of an eighth
-- for a minute after one was seen as the owner.
local RUN_MS_POLLED = 40
local SHARE_UNSEEN = 50
local SHARE_SEEN = 8
local SEEN_MS = 60000

-- For how long the key is left to guests at this release; 0: it is not. Guests have no ticket.
-- Those that listen on the public channel are counted: each listener gets its turn after as many owners of ours as there are
-- processes for each listener. The window is `WINDOW_MS_MIN` long, and twice the last one while nobody takes it.
-- Those that poll cannot be seen (`is_polled`): they get a share of the time, and nothing while nobody of ours waits, because the
-- key is free then.
local function window_ms(state, mode, channel, is_polled, now_ms)
  local run_ms, unseen_ms = now_ms - state.since, now_ms - state.guest
  -- The clock was set back: as long as is enough after the longest window.
  if run_ms < 0 then run_ms = RUN_WINDOWS * WINDOW_MS_MAX end
  if state.run > 0 and run_ms >= RUN_WINDOWS * state.window then
    local listeners = listeners_of(mode, channel)
    -- A guest that took the lock again after its turn has had the next turns too. Rounded once, behind the product: two guests who
    -- have had two turns owe three turns to three processes of ours. Half a turn is not waited for.
    local turns = math.max(1, -state.window)
    local is_due = listeners > 0 and state.run >= turns * (state.tickets + 1) / listeners - 0.5
    if is_due then return math.min(WINDOW_MS_MAX, math.max(WINDOW_MS_MIN, 2 * state.window)) end
  end
  if is_polled and state.tickets > 0 and run_ms >= RUN_MS_POLLED then
    local share = unseen_ms >= 0 and unseen_ms < SEEN_MS and SHARE_SEEN or SHARE_UNSEEN
    return math.min(WINDOW_MS_MAX, math.max(1, math.floor(run_ms / share)))
  end
  return 0
end

-- Leaves the free key to guests.
local function open_window(line, length_ms, now_ms)
  redis.call('HSET', line, 'open', now_ms + length_ms, 'window', length_ms, 'run', 0, 'since', now_ms)
end

-- Leaves a free key without a line to guests: they have heard of a release, and no process of ours waits.
local function leave_to_guests(key, line)
  if redis.call('PTTL', key) ~= -2 then return end
  local now_ms = server_now()
  new_line(line, now_ms, '')
  open_window(line, WINDOW_MS_MIN, now_ms)
end

-- A guest has a mutex: the next window is a short one, and those who poll are given more of them.
local function note_guest(line, now_ms)
  redis.call('HSET', line, 'window', 0, 'guest', now_ms)
end
