-- @include fence
-- Whether a ticket is of a wait for a lock: a mutex of the same name has the same key, and its waits stand in the same line.
local function is_own_kind(ticket)
  return not string.match(ticket.holder, ':holdfast$')
end

-- Makes the holder of a ticket the owner of a lock, for as long as its claim. Returns the first of its fences and how many
-- there are; nil where the counter is no number that can grow, or the user of this script may not write: never a lock
-- without an expiry, and no error, because a release must not fail for what comes after it.
local function make_owner(lock, ticket, fence, now_ms, now_us)
  if not redis.acl_check_cmd('PEXPIRE', lock, ticket.claim_ms) then return nil end
  local first, last, text = next_fences(fence, tonumber(ticket.fences), now_us, 0)
  if not first then return nil end
  local stored = store_counter(fence, text, last, tonumber(ticket.fence_ttl_ms), now_ms, tonumber(ticket.claim_ms))
  if stored['err'] then return nil end
  if type(redis.pcall('HSET', lock, ticket.holder, '1')) == 'table' then return nil end
  redis.call('PEXPIRE', lock, ticket.claim_ms)
  return first, last - first + 1
end

-- Nobody was sent the grant. The fences are not taken back: nobody was told them, and they only grow.
local function unmake_owner(lock, ticket)
  redis.call('HDEL', lock, ticket.holder)
end
