-- @include read-line
-- @include require-expiry
-- Makes a line without tickets, if there is none. It outlives the last word of anybody by a little more than a ticket.
local function keep_line(line, now_ms)
  if redis.call('EXISTS', line) == 0 then
    require_expiry(line, 20000)
    redis.call('HSET', line, 'first', 1, 'last', 0, 'open', 0, 'window', 0, 'run', 0, 'since', now_ms, 'guest', 0)
  end
  redis.call('PEXPIRE', line, 20000)
end

-- Takes a holder's ticket out of the line. Returns its place, or nil if it had none.
local function leave(line, holder)
  local place = redis.call('HGET', line, '#' .. holder)
  if not place then return nil end
  redis.call('HDEL', line, place, '#' .. holder)
  return tonumber(place)
end
