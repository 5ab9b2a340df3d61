-- How long a counter of fences lives from now. A fence is a moment of the server's time in µs, so its counter is
-- needed until the server's clock has passed the last one: until then, or until the end of the lease if that is
-- later, and `ttl_ms` more.
local function counter_life_ms(last, ttl_ms, now_ms, lease_ms)
  return math.max(math.floor(last / 1000) + 1 - now_ms, lease_ms) + ttl_ms
end

-- Stores the last fence given out; returns the reply of SET, which may be an error. `text` is what was stored, if
-- anything: its life is never made shorter, and a counter that lives for ever stays so, as Java's do.
-- Integers are written with %.0f: Lua would write 1.79e+15.
local function store_counter(fence, text, last, ttl_ms, now_ms, lease_ms)
  local last_text = string.format('%.0f', last)
  if ttl_ms == 0 then return redis.pcall('SET', fence, last_text) end
  local life_ms = counter_life_ms(last, ttl_ms, now_ms, lease_ms)
  if not text then
    return redis.pcall('SET', fence, last_text, 'PXAT', string.format('%.0f', now_ms + life_ms))
  end
  local reply = redis.pcall('SET', fence, last_text, 'KEEPTTL')
  redis.pcall('PEXPIRE', fence, string.format('%.0f', life_ms), 'GT')
  return reply
end
