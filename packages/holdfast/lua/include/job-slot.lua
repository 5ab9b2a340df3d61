-- States in which a slot is over: it never starts again.
local OVER = { done = true, failed = true, missed = true, dead = true, baseline = true }

-- No pause between two attempts is longer, whatever a clock that was wrong has written.
local RETRY_MS_MAX = 30000

-- A marker outlives the slot after its own by a week: a job that pauses over holidays keeps its memory.
local KEEP_MS = 604800000

-- Writes the marker. Its time to live is stated anew.
local function write_job(job, next_ms, now_ms, fields)
  redis.call('HSET', job, unpack(fields))
  redis.call('PEXPIRE', job, math.max(next_ms - now_ms, 0) + KEEP_MS)
end

-- How long a job must rest before its next start: `free` is a moment, and `max_ms` the longest rest that it may mean.
local function rest_of(marker, max_ms, now_ms)
  return math.max(0, math.min(marker.free - now_ms, max_ms))
end

-- The slot is in the marker already: nil and the rest when another attempt may start, otherwise what to answer.
local function same_slot(job, marker, owner, attempts, next_ms, now_ms)
  if OVER[marker.state] then return marker.state end
  if owner then return 'running' end
  if marker.attempt >= attempts then
    write_job(job, next_ms, now_ms, { 'state', 'dead', 'ended', now_ms })
    return 'dead'
  end
  return nil, marker.state == 'retry' and rest_of(marker, RETRY_MS_MAX, now_ms) or 0
end

-- A slot that does not run all the same goes into the marker: nobody starts it later.
local function write_end(job, state, slot_ms, next_ms, spec, now_ms)
  write_job(job, next_ms, now_ms, { 'slot', slot_ms, 'state', state, 'attempt', 0, 'owner', '', 'spec', spec, 'next', next_ms })
  return state
end

-- A slot that the marker does not have: nil when it may start, otherwise what to answer.
local function new_slot(job, marker, slot_ms, next_ms, late_ms, is_known, owner, spec, now_ms)
  if now_ms < slot_ms then return 'early' end
  if next_ms > 0 and now_ms >= next_ms then return 'stale' end
  if marker.slot == 0 and is_known == 0 then
    return write_end(job, 'baseline', slot_ms, next_ms, spec, now_ms)
  end
  if owner then return 'held' end
  if late_ms >= 0 and now_ms > slot_ms + late_ms then
    return write_end(job, 'missed', slot_ms, next_ms, spec, now_ms)
  end
  return nil
end

-- A run begins. One outside of the schedule brings no words of its own, and leaves those of the schedule.
local function write_start(job, marker, slot_ms, attempt, holder, first, host, now_ms, rest_ms, spec, next_ms)
  if spec == '' then spec = marker.spec end
  if next_ms == 0 then next_ms = tonumber(redis.call('HMGET', job, 'next')[1] or '') or 0 end
  local run = { 'slot', slot_ms, 'state', 'running', 'attempt', attempt, 'owner', holder, 'fence', first, 'host', host }
  local times = { 'began', now_ms, 'ended', 0, 'free', now_ms + rest_ms, 'error', '', 'spec', spec, 'next', next_ms }
  for i = 1, #times do run[#run + 1] = times[i] end
  write_job(job, next_ms, now_ms, run)
end
