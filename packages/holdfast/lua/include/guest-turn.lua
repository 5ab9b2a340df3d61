-- @include line
-- At most this many turns that guests took without a window are counted.
local TURNS_MAX = 8
-- The end of a hold that is renewed moves by this much at least: Redisson states 30 s anew every 10 s.
local RENEWAL_MS = 5000

-- A guest has a lock: its window is over, and the next one is a short one. Each hold of a guest ends at another moment (`ends_ms`), which
-- tells its turns apart: a ms or two is the same moment, and an end that moves far before it has come is the same hold, renewed. So is
-- a hold without an expiry. The turns after the one that the window was for are counted below 0 in `window`, and the next window waits
-- for them: a guest that takes the lock again after its release is ahead of all who wait.
local function note_turn(line, state, ttl_ms, now_ms)
  local ends_ms = ttl_ms < 0 and state.guest or now_ms + ttl_ms
  local apart_ms = math.max(ends_ms - state.guest, state.guest - ends_ms)
  if state.window <= 0 and apart_ms <= 2 then return end
  local is_renewed = state.guest > now_ms and apart_ms >= RENEWAL_MS
  local window = state.window
  if window > 0 then
    window = 0
  elseif not is_renewed then
    window = math.max(-TURNS_MAX, window - 1)
  end
  redis.call('HSET', line, 'open', 0, 'window', window, 'guest', ends_ms)
end
