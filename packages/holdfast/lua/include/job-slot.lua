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
  -- The clock was set back since the slot first started.
  if now_ms < marker.slot then return 'early' end
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
