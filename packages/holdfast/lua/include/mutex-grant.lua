-- Whether a ticket is of a wait for a mutex: a lock of the same name has the same key, and its waits stand in the same line.
local function is_own_kind(ticket)
  return string.match(ticket.holder, ':holdfast$')
end

-- Makes the holder of a ticket the owner of a mutex, for as long as its claim. Returns two numbers, as for a lock: a mutex
-- has no fences. Nil where the user of this script may not write.
local function make_owner(mutex, ticket)
  if redis.pcall('SET', mutex, ticket.holder, 'PX', ticket.claim_ms)['err'] then return nil end
  return 0, 0
end

-- Nobody was sent the grant.
local function unmake_owner(mutex)
  redis.call('DEL', mutex)
end
