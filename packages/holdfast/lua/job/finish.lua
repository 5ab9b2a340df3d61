#!lua flags=allow-oom
--- Ends a run of a job: frees its lock and records how the run ended. Fields that are not ours stay.
-- @key lock hash: one field, holder -> hold count
-- @key job hash: the marker, see include/job.lua
-- @arg holder string: <session>:<hold number>
-- @arg slot_ms integer, ms of server time: the slot that ran, 0 where it is not known
-- @arg attempt integer: the attempt that ran, 0 where it is not known
-- @arg state string: done, failed, retry; withdrawn for a start that no run followed; empty to record nothing
-- @arg text string: the error of a run that failed
-- @arg retry_ms integer, ms: how long until the next attempt
-- @arg channel string: where those who wait listen
-- @arg mode string: how to tell them: nobody, plain, sharded or both
-- @outcome ENDED receivers:integer
-- @outcome RELEASED receivers:integer
-- @outcome GONE
-- @repeat harmless: the end is stated, and another run's marker and lock are left alone
-- @include now
-- @include notify
local lock = KEYS[1]
local job = KEYS[2]
local holder = ARGV[1]
local slot_ms = tonumber(ARGV[2])
local attempt = tonumber(ARGV[3])
local state = ARGV[4]
local text = ARGV[5]
local retry_ms = tonumber(ARGV[6])
local channel = ARGV[7]
local mode = ARGV[8]

local was_owner = redis.pcall('HDEL', lock, holder) == 1
local receivers = was_owner and notify(mode, channel, '0') or 0
local marker = redis.pcall('HMGET', job, 'owner', 'slot', 'attempt', 'state')
local is_run = not marker['err'] and marker[1] == holder and (slot_ms == 0 or tonumber(marker[2]) == slot_ms)
if is_run and attempt > 0 then is_run = tonumber(marker[3]) == attempt end
-- Another replica may have taken the run for dead: its end is known better here.
local is_open = marker[4] == 'running' or (marker[4] == 'dead' and state ~= 'withdrawn')
if is_run and state ~= '' and (is_open or marker[4] == state) then
  local now_ms = server_now()
  if state == 'withdrawn' then
    redis.call('HSET', job, 'state', 'retry', 'attempt', tonumber(marker[3]) - 1, 'ended', now_ms, 'free', 0)
  elseif is_open then
    redis.call('HSET', job, 'state', state, 'ended', now_ms, 'error', text)
    if state == 'retry' then redis.call('HSET', job, 'free', now_ms + retry_ms) end
  end
  return { ENDED, receivers }
end
if was_owner then return { RELEASED, receivers } end
return { GONE }
