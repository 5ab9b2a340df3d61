#!lua flags=no-writes
--- Tells how far a once key is, without its result.
-- @key lock hash: one field, holder -> hold count
-- @key record hash: state, owner, attempt, fence, print, reason, payload
-- @outcome FOUND state:string owner:string attempt:integer fence:integer reason:string payload:string ttl_ms:integer
-- @outcome ABSENT
-- @outcome CONFLICT found:string
-- @repeat harmless: it reads
-- @include once-record
local lock = KEYS[1]
local record = KEYS[2]

local kept, strange = read_record(record)
if strange then return { CONFLICT, strange } end
if not kept.state then return { ABSENT } end
local state, payload = kept.state, ''
-- The run has ended without a word, or its lease has: the next caller starts another.
if state == 'running' and redis.pcall('HEXISTS', lock, kept.owner) ~= 1 then state = 'idle' end
if state == 'failed' or state == 'idle' then payload = kept.payload end
local ttl_ms = redis.call('PTTL', record)
return { FOUND, state, kept.owner, kept.attempt, kept.fence, kept.reason, payload, ttl_ms }
