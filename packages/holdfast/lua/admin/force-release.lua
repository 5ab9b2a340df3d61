#!lua flags=allow-oom
--- Takes a lock or a mutex away from whoever has it, and wakes the waiters.
-- @key name any type: what stands under the name
-- @arg lock_channel string: where waiters of a lock listen
-- @arg mutex_channel string: where waiters of a mutex listen
-- @arg how string: whom to wake: plain, sharded or both
-- @outcome RELEASED owner:string receivers:integer
-- @outcome GONE
-- @outcome CONFLICT found:string
-- @repeat harmless: the second call answers GONE
-- @include is-lock
-- @include notify
local name = KEYS[1]
local lock_channel = ARGV[1]
local mutex_channel = ARGV[2]
local how = ARGV[3]

local found = redis.call('TYPE', name)['ok']
if found == 'none' then return { GONE } end

local owner
local channel
local ttl_ms = redis.call('PTTL', name)
if found == 'string' then
  -- A mutex always expires; a string that never does is somebody's data.
  if ttl_ms == -1 then return { CONFLICT, 'a string without an expiry' } end
  owner, channel = redis.call('GET', name), mutex_channel
elseif found == 'hash' and redis.call('HLEN', name) == 1 then
  local field = redis.call('HGETALL', name)
  if not is_lock(field, ttl_ms) then return { CONFLICT, 'a hash that is not a lock' } end
  owner, channel = field[1], lock_channel
else
  return { CONFLICT, found }
end
redis.call('DEL', name)
return { RELEASED, owner, notify(how, channel, '0') }
