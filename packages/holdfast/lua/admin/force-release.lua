#!lua flags=allow-oom
--- Takes a lock or a mutex away from one owner or from whoever has it, and wakes the waiters.
-- @key name any type: what stands under the name
-- @arg owner string: from whom, as inspect shows it; empty: from whoever has it
-- @arg lock_channel string: where waiters of a lock listen
-- @arg mutex_channel string: where waiters of a mutex listen
-- @arg mode string: whom to wake: plain, sharded or both
-- @outcome RELEASED owner:string receivers:integer
-- @outcome HELD owner:string ttl_ms:integer
-- @outcome GONE
-- @outcome CONFLICT found:string
-- @repeat harmless: the second call answers GONE; without an owner it may take it from the next one
-- @include is-lock
-- @include mutex-owner
-- @include notify
local name = KEYS[1]
local owner = ARGV[1]
local lock_channel = ARGV[2]
local mutex_channel = ARGV[3]
local mode = ARGV[4]

local found = redis.call('TYPE', name)['ok']
if found == 'none' then return { GONE } end

local has_it
local channel
local ttl_ms = redis.call('PTTL', name)
if found == 'string' then
  -- A mutex always expires; a string that never does is somebody's data.
  if ttl_ms == -1 then return { CONFLICT, 'a string without an expiry' } end
  has_it, channel = mutex_owner(name), mutex_channel
  if not has_it then return { CONFLICT, 'a string too long for a mutex' } end
elseif found == 'hash' and redis.call('HLEN', name) == 1 then
  local field = redis.call('HGETALL', name)
  if not is_lock(field, ttl_ms) then return { CONFLICT, 'a hash that is not a lock' } end
  has_it, channel = field[1], lock_channel
else
  return { CONFLICT, found }
end
if owner ~= '' and owner ~= has_it then return { HELD, has_it, ttl_ms } end
redis.call('DEL', name)
return { RELEASED, has_it, notify(mode, channel, '0') }
