#!lua
--- Grants the mutex to one token, or says for how long it is taken.
-- @key mutex string: the owner's token
-- @arg token string: random, one per hold
-- @arg lease_ms digits, ms
-- @arg not_after_ms integer, ms of server time: refuse when later, 0 never
-- @outcome GRANTED now_ms:integer
-- @bare GRANTED now_ms
-- @outcome HELD now_ms:integer ttl_ms:integer owner:string
-- @outcome LATE now_ms:integer
-- @outcome CONFLICT now_ms:integer found:string
-- @bundle
-- @repeat harmless: the same token gets a full lease again
-- @include now
-- @include conflict
local mutex = KEYS[1]
local token = ARGV[1]
local lease_ms = ARGV[2]
local not_after_ms = tonumber(ARGV[3])

local now_ms = server_now()
if not_after_ms > 0 and now_ms > not_after_ms then return { LATE, now_ms } end

if redis.call('SET', mutex, token, 'NX', 'PX', lease_ms) then return now_ms end
local owner = redis.pcall('GET', mutex)
if type(owner) == 'table' then return { CONFLICT, now_ms, found_instead(owner, mutex) } end
-- The beginning of a token tells owners apart; the whole of it would be the right to release.
if owner ~= token then return { HELD, now_ms, redis.call('PTTL', mutex), string.sub(owner, 1, 8) } end
-- Never shorter: a request that was repeated may arrive late, behind one that stated more.
if redis.call('PTTL', mutex) < tonumber(lease_ms) then redis.call('PEXPIRE', mutex, lease_ms) end
return now_ms
