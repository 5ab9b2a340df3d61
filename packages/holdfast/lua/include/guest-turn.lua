-- @include line
-- At most this many turns of guests are counted.
local TURNS_MAX = 8

-- Whether a holder of a lock is a guest: 1, or 0 for one of ours. Sessions of ours are UUIDs of version 8.
local function guest_flag(holder)
  return string.match(holder, '^%x+%-%x+%-8') and 0 or 1
end

-- What an ask tells of guests of a lock. A guest that owns the lock has taken its window: the window is over, and the next one is a
-- short one. The first in line has heard the releases of guests and says how many there were (`state.heard`): they are counted below
-- 0 in `window`, and the next window waits for as many turns of ours. A guest that takes the lock again right after its release
-- is ahead of all who wait, so its turns since the window are more than one.
local function note_guests(line, state, is_owner)
  if state.heard == 0 and not (is_owner and state.window > 0) then return end
  local window = math.max(-TURNS_MAX, math.min(state.window, 0) - state.heard)
  if is_owner then state.open = 0 end
  redis.call('HSET', line, 'open', state.open, 'window', window)
end
