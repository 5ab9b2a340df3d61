-- A run begins. One outside of the schedule brings no words of its own, and leaves those of the schedule.
local function write_start(job, marker, slot_ms, attempt, holder, first, host, now_ms, rest_ms, spec, next_ms)
  if spec == '' then spec = marker.spec end
  if next_ms == 0 then next_ms = tonumber(redis.call('HMGET', job, 'next')[1] or '') or 0 end
  local run = { 'slot', slot_ms, 'state', 'running', 'attempt', attempt, 'owner', holder, 'fence', first, 'host', host }
  local times = { 'began', now_ms, 'ended', 0, 'free', now_ms + rest_ms, 'error', '', 'spec', spec, 'next', next_ms }
  for i = 1, #times do run[#run + 1] = times[i] end
  write_job(job, next_ms, now_ms, run)
end
