#!lua flags=no-writes
--- Tells what a name holds right now, and who waits for it.
-- @key name any type: what stands under the name
-- @key fence string: the last fence given out
-- @key line hash: who waits, see include/line.lua
-- @arg lock_channel string: where those who wait for a lock listen, if they have no ticket
-- @arg mutex_channel string: the same for a mutex
-- @arg mode string: how they listen: plain, sharded or both
-- @arg shown_max integer: how many tickets to show at most; 0 where there is no line
-- @outcome ABSENT
-- @outcome FREE open_ms:integer tickets:integer listeners:integer line:string
-- @outcome LOCK owner:string count:string ttl_ms:integer fence:string tickets:integer listeners:integer line:string may_linger:integer
-- @outcome MUTEX owner:string ttl_ms:integer tickets:integer listeners:integer line:string may_linger:integer
-- @outcome OTHER found:string ttl_ms:integer
-- @repeat harmless: it reads
-- @include now
-- @include is-lock
-- @include mutex-owner
-- @include shown-line
local name = KEYS[1]
local fence = KEYS[2]
local line = KEYS[3]
local lock_channel = ARGV[1]
local mutex_channel = ARGV[2]
local mode = ARGV[3]
local shown_max = tonumber(ARGV[4])

local now_ms = server_now()
local tickets, rows, open_ms, keeper = 0, '', 0, ''
if shown_max > 0 then
  tickets, rows, open_ms, keeper = shown_line(line, shown_max, now_ms)
end
local found = redis.call('TYPE', name)['ok']
if found == 'none' then
  if tickets == 0 then return { ABSENT } end
  local listeners = listeners_of(mode, lock_channel) + listeners_of(mode, mutex_channel)
  return { FREE, open_ms, tickets, listeners, rows }
end
local ttl_ms = redis.call('PTTL', name)
if found == 'string' and ttl_ms >= 0 then
  local owner = mutex_owner(name)
  if owner then
    local may_linger = keeper ~= '' and redis.call('GET', name) == keeper and 1 or 0
    return { MUTEX, owner, ttl_ms, tickets, listeners_of(mode, mutex_channel), rows, may_linger }
  end
end
if found == 'hash' and redis.call('HLEN', name) == 1 then
  local field = redis.call('HGETALL', name)
  local last = redis.pcall('GET', fence)
  if type(last) ~= 'string' or #last > 16 or not string.match(last, '^%d+$') then last = '' end
  if is_lock(field, ttl_ms) then
    local listeners, may_linger = listeners_of(mode, lock_channel), field[1] == keeper and 1 or 0
    return { LOCK, field[1], field[2], ttl_ms, last, tickets, listeners, rows, may_linger }
  end
end
return { OTHER, found, ttl_ms }
