#!lua flags=allow-oom
--- Ends a run: stores its result or its failure, or leaves the key to the next attempt, and frees the lock.
-- @key lock hash: one field, holder -> hold count
-- @key record hash: state, owner, attempt, fence, print, reason, payload
-- @arg holder string: <session>:<hold number>
-- @arg attempt integer: which run this was
-- @arg fence integer: its fence
-- @arg print string: the fingerprint of the request, empty for none
-- @arg state string: done, failed or idle
-- @arg reason string: why it failed; empty for a result
-- @arg payload string: the result or the failure
-- @arg keep_ms digits, ms: how long the record lives from now
-- @arg channel string: where those listen who wait for the end
-- @arg mode string: how to tell them: plain, sharded or both
-- @outcome STORED receivers:integer
-- @outcome GONE
-- @outcome CONFLICT found:string
-- @repeat harmless: the record has the owner and the attempt, and is not written again
-- @include conflict
-- @include notify
local lock = KEYS[1]
local record = KEYS[2]
local holder = ARGV[1]
local attempt = tonumber(ARGV[2])
local fence = tonumber(ARGV[3])
local print = ARGV[4]
local state = ARGV[5]
local reason = ARGV[6]
local payload = ARGV[7]
local keep_ms = ARGV[8]
local channel = ARGV[9]
local mode = ARGV[10]

local kept = redis.pcall('HMGET', record, 'state', 'owner', 'attempt')
if kept['err'] then return { CONFLICT, found_instead(kept, record) } end
-- The record decides who may store. The lock decides only when others may start.
local is_ours = kept[2] == holder and tonumber(kept[3]) == attempt
if is_ours and kept[1] ~= 'running' then return { STORED, 0 } end
local is_locked = redis.pcall('HEXISTS', lock, holder) == 1
if not is_ours and not is_locked then return { GONE } end
-- @include require-expiry
require_expiry(record, keep_ms)
redis.call('HSET', record, 'state', state, 'owner', holder, 'attempt', attempt, 'fence', fence, 'print', print,
  'reason', reason, 'payload', payload)
redis.call('PEXPIRE', record, keep_ms)
if is_locked then redis.call('HDEL', lock, holder) end
local receivers = notify(mode, channel, '0')
return { STORED, receivers }
