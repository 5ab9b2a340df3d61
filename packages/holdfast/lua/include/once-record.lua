-- @include conflict
-- The record of a once key: a table without a state where there is none; or nil, and what stands there instead.
local function read_record(record)
  local found = redis.pcall('HMGET', record, 'state', 'owner', 'attempt', 'fence', 'print', 'reason', 'payload')
  if found['err'] then return nil, found_instead(found, record) end
  local state, attempt, fence = found[1], tonumber(found[3] or ''), tonumber(found[4] or '')
  if not state and redis.call('HLEN', record) == 0 then return { attempt = 0 } end
  local is_known = state == 'running' or state == 'idle' or state == 'done' or state == 'failed'
  if not is_known or not attempt or not fence then return nil, 'a hash that is not a record' end
  local kept = { state = state, owner = found[2] or '', attempt = attempt, fence = fence }
  kept.print, kept.reason, kept.payload = found[5] or '', found[6] or '', found[7] or ''
  return kept
end
