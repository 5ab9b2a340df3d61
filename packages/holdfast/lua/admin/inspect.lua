#!lua flags=no-writes
--- Tells what a name holds right now.
-- @key name any type: what stands under the name
-- @key fence string: the last fence given out
-- @key line hash: who waits, see include/line.lua
-- @arg lock_channel string: where guests listen that wait for a lock
-- @arg mutex_channel string: where guests listen that wait for a mutex
-- @arg mode string: how they listen: plain, sharded or both
-- @outcome ABSENT
-- @outcome LOCK owner:string count:string ttl_ms:integer fence:string waiters:integer
-- @outcome MUTEX owner:string ttl_ms:integer waiters:integer
-- @outcome OTHER found:string ttl_ms:integer
-- @repeat harmless: it reads
-- @include is-lock
-- @include mutex-owner
-- @include listeners
-- @include tickets
local name = KEYS[1]
local fence = KEYS[2]
local line = KEYS[3]
local lock_channel = ARGV[1]
local mutex_channel = ARGV[2]
local mode = ARGV[3]

local found = redis.call('TYPE', name)['ok']
if found == 'none' then return { ABSENT } end
local ttl_ms = redis.call('PTTL', name)
if found == 'string' and ttl_ms >= 0 then
  local owner = mutex_owner(name)
  if owner then return { MUTEX, owner, ttl_ms, tickets_in(line) + listeners_of(mode, mutex_channel) } end
end
if found == 'hash' and redis.call('HLEN', name) == 1 then
  local field = redis.call('HGETALL', name)
  local last = redis.pcall('GET', fence)
  if type(last) ~= 'string' or #last > 16 or not string.match(last, '^%d+$') then last = '' end
  if is_lock(field, ttl_ms) then
    return { LOCK, field[1], field[2], ttl_ms, last, tickets_in(line) + listeners_of(mode, lock_channel) }
  end
end
return { OTHER, found, ttl_ms }
