#!lua
--- Grants the lock to one hold, or says who has it, and keeps the hold's place in the line.
-- @key lock hash: one field, holder -> hold count
-- @key fence string: the last fence given out
-- @key line hash: who waits, see include/line.lua
-- @arg holder string: <session>:<hold number>
-- @arg lease_ms digits, ms
-- @arg fences integer: how many fences to reserve at most
-- @arg fence_ttl_ms integer, ms: how long the counter outlives the lease and its last fence, 0 for ever
-- @arg not_after_ms integer, ms of server time: refuse when later, 0 never
-- @arg wants_time integer: 1 to be told the server's time with the grant
-- @arg common_us integer, µs: the time that fences begin from on all of several servers, 0 the server's own
-- @arg ticket string: echo, claim in ms, turns heard with mode, and channel, to wait in the line; empty not to; `-` where there is no line
-- @outcome GRANTED now_ms:integer first_fence:integer fences:integer tickets:integer
-- @bare GRANTED first_fence
-- @outcome HELD now_ms:integer ttl_ms:integer owner:string place:integer tickets:integer open_ms:integer is_guest:integer
-- @outcome LATE now_ms:integer
-- @outcome CONFLICT now_ms:integer found:string
-- @bundle
-- @repeat harmless: the same hold gets a fence of its block, the last, and a full lease
-- @include now
-- @include has-line
-- @include lock-hold
local lock = KEYS[1]
local fence = KEYS[2]
local line = KEYS[3]
local holder = ARGV[1]
local lease_ms = ARGV[2]
local fences = tonumber(ARGV[3])
local fence_ttl_ms = tonumber(ARGV[4])
local not_after_ms = tonumber(ARGV[5])
local wants_time = tonumber(ARGV[6])
local common_us = tonumber(ARGV[7])
local ticket = ARGV[8]

local now_ms, now_us = server_now()
if not_after_ms > 0 and now_ms > not_after_ms then return { LATE, now_ms } end
local ttl_ms = redis.call('PTTL', lock)
-- The short way: nobody has it, nobody waits, and it will not be kept unowned.
if ttl_ms == -2 and (ticket == '-' or (ticket == '' or not string.match(ticket, '^%S+ %d+ %d*%al ')) and not has_line(line)) then
  local first_fence, given = hold_lock(lock, fence, holder, lease_ms, fences, fence_ttl_ms, now_ms, now_us, common_us)
  if wants_time == 1 or given < fences then return { GRANTED, now_ms, first_fence, given, 0 } end
  return first_fence
end
-- @include last-fence
-- @include is-lock
-- @include conflict
-- @include lock-grant
-- @include ask
-- @include guest-turn
-- @include linger
local state, found, first_fence, given
if ticket ~= '-' and (ttl_ms == -2 or ticket ~= '') then state, found = read_line(line, holder) end
if found then return { CONFLICT, now_ms, found } end
if ttl_ms ~= -2 then
  local fields = redis.pcall('HLEN', lock)
  if type(fields) == 'table' then return { CONFLICT, now_ms, found_instead(fields, lock) } end
  if fields ~= 1 then return { CONFLICT, now_ms, 'a hash of another kind' } end
  local field = redis.call('HGETALL', lock)
  local is_ours = field[1] == holder
  if not is_lock(field, is_ours and 0 or ttl_ms) then return { CONFLICT, now_ms, 'a hash that is not a lock' } end
  if not is_ours then
    local is_guest = guest_flag(field[1])
    if ticket ~= '-' then want(line, field[1]) end
    if ticket == '' or ticket == '-' then return { HELD, now_ms, ttl_ms, field[1], 0, 0, 0, is_guest } end
    state = join(line, state, holder, ticket, lease_ms, fences, fence_ttl_ms, now_ms)
    note_guests(line, state, is_guest == 1)
    return { HELD, now_ms, ttl_ms, field[1], place_of(state), state.tickets, 0, is_guest }
  end
  first_fence, given = last_fence(fence, fences, fence_ttl_ms, now_ms, now_us, tonumber(lease_ms), common_us)
  -- Never shorter: a request that was repeated may arrive late, behind one that stated more.
  if ttl_ms < tonumber(lease_ms) then redis.call('PEXPIRE', lock, lease_ms) end
else
  local waits, owner = must_wait(lock, fence, line, state, holder, ticket, lease_ms, fences, fence_ttl_ms, now_ms, now_us)
  if state and state.heard then note_guests(line, state, false) end
  if waits then
    return { HELD, now_ms, redis.call('PTTL', lock), owner, place_of(state), state.tickets, open_ms(state, now_ms), 0 }
  end
  first_fence, given = hold_lock(lock, fence, holder, lease_ms, fences, fence_ttl_ms, now_ms, now_us, common_us)
end
local behind = keep_unowned(line, state, holder, ticket, now_ms)
if wants_time == 1 or given < fences or behind > 0 then return { GRANTED, now_ms, first_fence, given, behind } end
return first_fence
