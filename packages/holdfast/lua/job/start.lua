#!lua
--- Starts a slot of a job under the job's lock, or says why the slot does not start now.
-- @key lock hash: one field, holder -> hold count
-- @key fence string: the last fence given out
-- @key job hash: the marker, see include/job.lua
-- @arg holder string: <session>:<hold number>
-- @arg lease_ms digits, ms
-- @arg fence_ttl_ms integer, ms: how long the counter outlives the lease and its last fence, 0 for ever
-- @arg not_after_ms integer, ms of server time: refuse when later, 0 never
-- @arg slot_ms integer, ms of server time: the slot; 0 for a run outside of the schedule, now
-- @arg next_ms integer, ms of server time: the slot after it, 0 where there is none
-- @arg late_ms integer, ms: how long after its time the slot may start; -1 while it is the newest
-- @arg attempts integer: how often one slot may start
-- @arg rest_ms integer, ms: at least this long from a start to the start of the next slot
-- @arg is_known integer: 1 if the process has seen the server's time before the slot
-- @arg host string: where this is, for those who look at the job
-- @arg spec string: the schedule in words; empty to keep what is there
-- @outcome STARTED now_ms:integer slot_ms:integer attempt:integer fence:integer spec:string
-- @outcome DONE now_ms:integer state:string host:string spec:string
-- @outcome RUNNING now_ms:integer ttl_ms:integer host:string spec:string
-- @outcome EARLY now_ms:integer
-- @outcome STALE now_ms:integer
-- @outcome PASSED now_ms:integer slot_ms:integer spec:string
-- @outcome RESTING now_ms:integer rest_ms:integer
-- @outcome HELD now_ms:integer ttl_ms:integer owner:string
-- @outcome LATE now_ms:integer
-- @outcome CONFLICT now_ms:integer found:string
-- @repeat harmless: the same holder gets the same start again, and after its end nothing
-- @include now
-- @include lock-hold
-- @include job
-- @include job-slot
-- @include job-begin
local lock = KEYS[1]
local fence = KEYS[2]
local job = KEYS[3]
local holder = ARGV[1]
local lease_ms = ARGV[2]
local fence_ttl_ms = tonumber(ARGV[3])
local not_after_ms = tonumber(ARGV[4])
local slot_ms = tonumber(ARGV[5])
local next_ms = tonumber(ARGV[6])
local late_ms = tonumber(ARGV[7])
local attempts = tonumber(ARGV[8])
local rest_ms = tonumber(ARGV[9])
local is_known = tonumber(ARGV[10])
local host = ARGV[11]
local spec = ARGV[12]

local now_ms, now_us = server_now()
if not_after_ms > 0 and now_ms > not_after_ms then return { LATE, now_ms } end
local marker, no_marker = read_job(job)
if no_marker then return { CONFLICT, now_ms, no_marker } end
local owner, ttl_ms, no_lock = lock_owner(lock)
if no_lock then return { CONFLICT, now_ms, no_lock } end
require_expiry(job, lease_ms)
if marker.owner == holder and marker.state ~= 'running' then return { DONE, now_ms, marker.state, marker.host, marker.spec } end
if marker.owner == holder and owner == holder then
  if ttl_ms < tonumber(lease_ms) then redis.call('PEXPIRE', lock, lease_ms) end
  return { STARTED, now_ms, marker.slot, marker.attempt, marker.fence, marker.spec }
end
local attempt, rest, answer = 1, 0, nil
if slot_ms == 0 then
  slot_ms = math.max(now_ms, marker.slot + 1)
  answer = owner and 'held'
elseif marker.slot > slot_ms then
  return { PASSED, now_ms, marker.slot, marker.spec }
elseif marker.slot == slot_ms and (marker.state ~= 'baseline' or is_known == 0) then
  answer, rest = same_slot(job, marker, owner, attempts, next_ms, now_ms)
  attempt = marker.attempt + 1
else
  answer = new_slot(job, marker, slot_ms, next_ms, late_ms, is_known, owner, spec, now_ms)
  rest = rest_of(marker, rest_ms, now_ms)
end
if answer == 'early' then return { EARLY, now_ms } end
if answer == 'held' then return { HELD, now_ms, ttl_ms, owner } end
if answer == 'running' then return { RUNNING, now_ms, ttl_ms, marker.host, marker.spec } end
if answer and answer ~= 'stale' then return { DONE, now_ms, answer, marker.host, marker.spec } end
if answer == 'stale' or (next_ms > 0 and now_ms >= next_ms) then return { STALE, now_ms } end
if rest > 0 then return { RESTING, now_ms, rest } end
local first = hold_lock(lock, fence, holder, lease_ms, 1, fence_ttl_ms, now_ms, now_us, 0)
write_start(job, marker, slot_ms, attempt, holder, first, host, now_ms, rest_ms, spec, next_ms)
return { STARTED, now_ms, slot_ms, attempt, first, marker.spec }
