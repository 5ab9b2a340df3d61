#!lua
--- Grants the mutex to one token, or says for how long it is taken, and keeps the token's place in the line.
-- @key mutex string: the owner's token
-- @key line hash: who waits, see include/line.lua
-- @arg token string: random, one per hold
-- @arg lease_ms digits, ms
-- @arg not_after_ms integer, ms of server time: refuse when later, 0 never
-- @arg ticket string: echo, claim in ms, turns heard with mode, and channel, to wait in the line; empty not to; `-` where there is no line
-- @outcome GRANTED now_ms:integer tickets:integer
-- @bare GRANTED now_ms
-- @outcome HELD now_ms:integer ttl_ms:integer owner:string place:integer tickets:integer open_ms:integer is_guest:integer
-- @outcome LATE now_ms:integer
-- @outcome CONFLICT now_ms:integer found:string
-- @bundle
-- @repeat harmless: the same token gets a full lease again
-- @include now
-- @include has-line
local mutex = KEYS[1]
local line = KEYS[2]
local token = ARGV[1]
local lease_ms = ARGV[2]
local not_after_ms = tonumber(ARGV[3])
local ticket = ARGV[4]

local now_ms, now_us = server_now()
if not_after_ms > 0 and now_ms > not_after_ms then return { LATE, now_ms } end

local may_linger = ticket ~= '' and string.match(ticket, '^%S+ %d+ %d*%al ')
-- The short way: nobody has it, nobody waits, and it will not be kept unowned.
local is_alone = ticket == '-' or (not may_linger and not has_line(line))
if is_alone and redis.call('SET', mutex, token, 'NX', 'PX', lease_ms) then return now_ms end
-- @include conflict
-- @include mutex-grant
-- @include ask
-- @include window
-- @include linger
local state, found
if ticket ~= '-' then state, found = read_line(line, token) end
if found then return { CONFLICT, now_ms, found } end
if state and redis.call('PTTL', mutex) == -2 then
  local waits, owner = must_wait(mutex, mutex, line, state, token, ticket, lease_ms, 1, 0, now_ms, now_us)
  if waits then
    local left_ms, shown = redis.call('PTTL', mutex), string.sub(owner, 1, 8)
    return { HELD, now_ms, left_ms, shown, place_of(state), state.tickets, open_ms(state, now_ms), 0 }
  end
end
local is_new = not is_alone and redis.call('SET', mutex, token, 'NX', 'PX', lease_ms)
local owner = is_new and token or redis.pcall('GET', mutex)
if type(owner) == 'table' then return { CONFLICT, now_ms, found_instead(owner, mutex) } end
if owner ~= token then
  -- The beginning of a token tells owners apart; the whole of it would be the right to release.
  local shown, ttl_ms = string.sub(owner, 1, 8), redis.call('PTTL', mutex)
  local is_guest = string.match(owner, '^[0-9a-f]+:holdfast$') and 0 or 1
  if ticket ~= '-' then want(line, owner) end
  if ticket == '' or ticket == '-' then return { HELD, now_ms, ttl_ms, shown, 0, 0, 0, is_guest } end
  state = join(line, state, token, ticket, lease_ms, 1, 0, now_ms)
  if is_guest == 1 then note_guest(line, now_ms) end
  return { HELD, now_ms, ttl_ms, shown, place_of(state), state.tickets, 0, is_guest }
end
-- Never shorter: a request that was repeated may arrive late, behind one that stated more.
if not is_new and redis.call('PTTL', mutex) < tonumber(lease_ms) then redis.call('PEXPIRE', mutex, lease_ms) end
local behind = keep_unowned(line, state, token, ticket, now_ms)
if behind > 0 then return { GRANTED, now_ms, behind } end
return now_ms
