#!lua flags=allow-oom
--- Takes a lock or a mutex away from one owner or from whoever has it, and wakes who waits.
-- @key name any type: what stands under the name
-- @key line hash: who waits, see include/line.lua
-- @arg owner string: from whom, as inspect shows it; empty: from whoever has it
-- @arg lock_channel string: where guests listen that wait for a lock
-- @arg mutex_channel string: where guests listen that wait for a mutex
-- @arg mode string: how to tell guests: plain, sharded or both
-- @outcome RELEASED owner:string receivers:integer
-- @outcome HELD owner:string ttl_ms:integer
-- @outcome GONE
-- @outcome CONFLICT found:string
-- @repeat harmless: the second call answers GONE; without an owner it may take it from the next one
-- @include is-lock
-- @include mutex-owner
-- @include line
-- @include wake
-- @include notify
local name = KEYS[1]
local line = KEYS[2]
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
-- The first in line asks, and so serves the line.
local is_read, state = pcall(read_line, line, '')
if is_read and state then pcall(wake, line, state, 0) end
return { RELEASED, has_it, notify(mode, channel, '0') }
