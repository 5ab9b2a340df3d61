-- Reserves `count` fences and returns the first. What is stored is the last.
-- A fence starts from the server's time, so a counter that was lost (flushed, expired, not replicated) does not
-- restart below the fences already given out. Integers are written with %.0f: Lua would write 1.79e+15.
local function reserve_fences(fence, count, ttl_ms, now_us)
  local stored = tonumber(string.match(redis.call('GET', fence) or '0', '^%d+$'))
  if not stored or stored + count > 9007199254740991 then
    error({ err = 'WRONGTYPE The fence counter of this lock does not hold a number we can raise' })
  end
  local first = math.max(stored + 1, now_us)
  local last = string.format('%.0f', first + count - 1)
  if ttl_ms ~= '0' then
    redis.call('SET', fence, last, 'PX', ttl_ms)
  else
    redis.call('SET', fence, last)
  end
  return first
end
