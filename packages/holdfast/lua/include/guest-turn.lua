-- @include line
-- So many turns that guests took by themselves are counted at most.
local TURNS_MAX = 8

-- A guest has a lock: its window is over, and the next one is a short one. Each hold of a guest ends at another moment (`ends_ms`), which
-- tells its turns apart (a ms or two is the same moment). The turns after the one that the window was for are counted below 0 in
-- `window`, and the next window waits for them: a guest that takes the lock again after its release is ahead of all who wait.
local function note_turn(line, state, ends_ms)
  local apart_ms = math.max(ends_ms - state.guest, state.guest - ends_ms)
  if state.window <= 0 and apart_ms <= 2 then return end
  local window = state.window > 0 and 0 or math.max(-TURNS_MAX, state.window - 1)
  redis.call('HSET', line, 'open', 0, 'window', window, 'guest', ends_ms)
end
