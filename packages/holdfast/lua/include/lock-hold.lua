-- @include require-expiry
-- @include fence
-- Gives a free lock to a holder. Returns the first of its fences and how many there are.
local function hold_lock(lock, fence, holder, lease_ms, fences, fence_ttl_ms, now_ms, now_us, common_us)
  require_expiry(lock, lease_ms)
  -- Fences first: if the counter is not a number this stops before the lock is written.
  local first, given = reserve_fences(fence, fences, fence_ttl_ms, now_ms, now_us, tonumber(lease_ms), common_us)
  redis.call('HSET', lock, holder, '1')
  redis.call('PEXPIRE', lock, lease_ms)
  return first, given
end
