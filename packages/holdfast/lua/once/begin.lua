#!lua
--- Starts a run of a once key, or says why not: its result, its failure, another request, or who runs it now.
-- @key lock hash: one field, holder -> hold count
-- @key fence string: the last fence given out
-- @key record hash: state, owner, attempt, fence, print, reason, payload
-- @arg holder string: <session>:<hold number>
-- @arg lease_ms digits, ms
-- @arg fence_ttl_ms integer, ms: how long the counter outlives the lease and its last fence, 0 for ever
-- @arg not_after_ms integer, ms of server time: refuse when later, 0 never
-- @arg print string: the fingerprint of the request; empty: any
-- @arg attempts integer: how many runs may start
-- @arg record_ttl_ms digits, ms: how long the record of a run lives
-- @arg keep_failure_ms digits, ms: how long the record lives when its attempts are used up
-- @outcome STARTED now_ms:integer first_fence:integer attempt:integer
-- @outcome DONE now_ms:integer attempt:integer payload:string
-- @outcome FAILED now_ms:integer attempt:integer reason:string payload:string
-- @outcome MISMATCH now_ms:integer attempt:integer
-- @outcome HELD now_ms:integer ttl_ms:integer owner:string
-- @outcome LATE now_ms:integer
-- @outcome CONFLICT now_ms:integer found:string
-- @repeat harmless: the record has the holder, which gets the same attempt and fence, and a full lease
-- @include now
-- @include once-record
local lock = KEYS[1]
local fence = KEYS[2]
local record = KEYS[3]
local holder = ARGV[1]
local lease_ms = ARGV[2]
local fence_ttl_ms = tonumber(ARGV[3])
local not_after_ms = tonumber(ARGV[4])
local print = ARGV[5]
local attempts = tonumber(ARGV[6])
local record_ttl_ms = ARGV[7]
local keep_failure_ms = ARGV[8]

local now_ms, now_us = server_now()
if not_after_ms > 0 and now_ms > not_after_ms then return { LATE, now_ms } end
local kept, strange = read_record(record)
if strange then return { CONFLICT, now_ms, strange } end
if kept.state and print ~= '' and kept.print ~= print then return { MISMATCH, now_ms, kept.attempt } end
if kept.state == 'done' then return { DONE, now_ms, kept.attempt, kept.payload } end
if kept.state == 'failed' then return { FAILED, now_ms, kept.attempt, kept.reason, kept.payload } end
-- @include lock-hold
-- @include once-start
local ttl_ms, owner, obstacle = lock_of(lock)
if obstacle then return { CONFLICT, now_ms, obstacle } end
if owner and owner ~= holder then return { HELD, now_ms, ttl_ms, owner } end
if kept.state == 'running' and kept.owner == holder then
  extend(lock, holder, lease_ms, ttl_ms)
  return { STARTED, now_ms, kept.fence, kept.attempt }
end
if kept.attempt >= attempts then
  local reason, payload = use_up(record, kept, keep_failure_ms)
  return { FAILED, now_ms, kept.attempt, reason, payload }
end
require_expiry(record, record_ttl_ms)
local first_fence = hold_lock(lock, fence, holder, lease_ms, 1, fence_ttl_ms, now_ms, now_us, 0)
start(record, holder, kept.attempt + 1, first_fence, print, record_ttl_ms)
return { STARTED, now_ms, first_fence, kept.attempt + 1 }
