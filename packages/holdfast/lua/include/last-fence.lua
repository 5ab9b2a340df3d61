-- @include fence
-- @include keep-counter
-- The fence of a hold that is asked for again: the last of its block. How many it was given is not known here: only the last is
-- certainly one of its own. New ones where the counter was lost. Returns the first and how many.
local function last_fence(fence, count, ttl_ms, now_ms, now_us, lease_ms, common_us)
  local last = tonumber(string.match(redis.call('GET', fence) or '', '^%d+$'))
  if not last then return reserve_fences(fence, count, ttl_ms, now_ms, now_us, lease_ms, common_us) end
  keep_counter(fence, last, ttl_ms, now_ms, lease_ms)
  return last, 1
end
