-- How long a counter of fences lives from now. A fence is a moment of the server's time in µs, so its counter is
-- needed until the server's clock has passed the last one: until then, or until the end of the lease if that is
-- later, and `ttl_ms` more.
local function counter_life_ms(last, ttl_ms, now_ms, lease_ms)
  return math.max(math.floor(last / 1000) + 1 - now_ms, lease_ms) + ttl_ms
end

-- Stores the last fence given out; returns the reply of SET, which may be an error. `text` is what was stored, if
-- anything: its life is never made shorter, and a counter that lives for ever stays so, as Java's do.
-- Numbers are handed over as they are: Redis writes all their digits, where tostring would write 1.79e+15.
local function store_counter(fence, text, last, ttl_ms, now_ms, lease_ms)
  if ttl_ms == 0 then return redis.pcall('SET', fence, last) end
  local life_ms = counter_life_ms(last, ttl_ms, now_ms, lease_ms)
  local left_ms = text and redis.call('PTTL', fence) or 0
  if left_ms == -1 or left_ms > life_ms then return redis.pcall('SET', fence, last, 'KEEPTTL') end
  return redis.pcall('SET', fence, last, 'PXAT', now_ms + life_ms)
end
