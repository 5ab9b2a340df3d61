-- Reserves `count` fences and returns the first. What is stored is the last.
-- A fence starts from the server's time, so a counter that was lost (flushed, expired, not replicated) does not
-- restart below the fences already given out. Integers are written with %.0f: Lua would write 1.79e+15.
-- One of several servers is told `common_us`, the time that all of them begin from, so that all give the same fences.
-- It stands in for our own time when it is near: 100 ms ahead, 20 ms behind, and not at all behind where the counter
-- may have been lost.
local function reserve_fences(fence, count, ttl_ms, now_us, common_us)
  local stored = tonumber(string.match(redis.call('GET', fence) or '0', '^%d+$'))
  if not stored or stored + count > 9007199254740991 then
    error({ err = 'WRONGTYPE The fence counter of this lock does not hold a number we can raise' })
  end
  local earliest_us = stored > 0 and now_us - 20000 or now_us
  local from_us = now_us
  if common_us >= earliest_us and common_us <= now_us + 100000 then from_us = common_us end
  local first = math.max(stored + 1, from_us)
  local last = string.format('%.0f', first + count - 1)
  if ttl_ms ~= '0' then
    redis.call('SET', fence, last, 'PX', ttl_ms)
  else
    redis.call('SET', fence, last)
  end
  return first
end
