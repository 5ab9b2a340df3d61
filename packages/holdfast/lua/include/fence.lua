-- @include counter
-- Reserves up to `count` fences: returns the first and how many they are. What is stored is the last.
-- A fence starts from the server's time, so a counter that was lost (flushed, expired, not replicated) does not
-- restart below the fences already given out. For that no block may run ahead: it ends at most 1 ms (1000 fences)
-- after the time that it begins from, and has at least one.
-- One of several servers is told `common_us`, the time that all of them begin from, so that all give the same block.
-- It stands in for our own time when it is near: 100 ms ahead, 20 ms behind, and not at all behind where the counter
-- may have been lost.
local function reserve_fences(fence, count, ttl_ms, now_ms, now_us, lease_ms, common_us)
  local text = redis.call('GET', fence)
  local stored = tonumber(string.match(text or '0', '^%d+$'))
  if not stored or stored + count > 9007199254740991 then
    error({ err = 'WRONGTYPE The fence counter of this lock does not hold a number we can raise' })
  end
  local earliest_us = stored > 0 and now_us - 20000 or now_us
  local from_us = now_us
  if common_us >= earliest_us and common_us <= now_us + 100000 then from_us = common_us end
  local first = math.max(stored + 1, from_us)
  local last = math.max(first, math.min(first + count - 1, from_us + 1000))
  local reply = store_counter(fence, text, last, ttl_ms, now_ms, lease_ms)
  if reply['err'] then error(reply) end
  return first, last - first + 1
end
