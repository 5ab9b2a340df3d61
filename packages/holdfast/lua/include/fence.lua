-- @include counter
-- The next fences, up to `count` of them: returns the first, the last and what the counter holds; nil if that is not a number
-- that can grow. Writes nothing.
-- A fence starts from the server's time, so a counter that was lost (flushed, expired, not replicated) does not
-- restart below the fences already given out. For that no block may run ahead: it ends at most 1 ms (1000 fences)
-- after the time that it begins from, and has at least one.
-- One of several servers is told `common_us`, the time that all of them begin from, so that all give the same block.
-- That time stands in for the server's own when it is near: 100 ms ahead, 20 ms behind, and not at all behind where the counter
-- may have been lost.
local function next_fences(fence, count, now_us, common_us)
  local text = redis.pcall('GET', fence)
  if type(text) == 'table' then return nil end
  local stored = tonumber(string.match(text or '0', '^%d+$'))
  if not stored or stored + count > 9007199254740991 then return nil end
  local earliest_us = stored > 0 and now_us - 20000 or now_us
  local from_us = now_us
  if common_us >= earliest_us and common_us <= now_us + 100000 then from_us = common_us end
  local first = math.max(stored + 1, from_us)
  return first, math.max(first, math.min(first + count - 1, from_us + 1000)), text
end

-- Reserves up to `count` fences: returns the first and how many they are. What is stored is the last.
local function reserve_fences(fence, count, ttl_ms, now_ms, now_us, lease_ms, common_us)
  local first, last, text = next_fences(fence, count, now_us, common_us)
  if not first then
    redis.call('GET', fence)
    error({ err = 'WRONGTYPE The fence counter of this lock does not hold a number we can raise' })
  end
  local reply = store_counter(fence, text, last, ttl_ms, now_ms, lease_ms)
  if reply['err'] then error(reply) end
  return first, last - first + 1
end
