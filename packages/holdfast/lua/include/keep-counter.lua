-- @include counter
-- States the counter of a hold that goes on: at least `last`, the end of its block, and alive as after a grant.
-- Nothing is done where that fails (a counter that is no number, a user that may not): the lease does not depend on it.
local function keep_counter(fence, last, ttl_ms, now_ms, lease_ms)
  local text = redis.pcall('GET', fence)
  if type(text) == 'table' then return end
  local stored = tonumber(string.match(text or '0', '^%d+$'))
  if not stored then return end
  if stored < last then
    store_counter(fence, text, last, ttl_ms, now_ms, lease_ms)
  elseif ttl_ms > 0 then
    redis.pcall('PEXPIRE', fence, counter_life_ms(stored, ttl_ms, now_ms, lease_ms), 'GT')
  end
end
