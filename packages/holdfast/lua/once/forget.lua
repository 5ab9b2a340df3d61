#!lua flags=allow-oom
--- Removes what is kept of a once key, unless somebody runs it now.
-- @key lock hash: one field, holder -> hold count
-- @key record hash: state, owner, attempt, fence, print, reason, payload
-- @outcome FORGOTTEN
-- @outcome RUNNING
-- @outcome ABSENT
-- @outcome CONFLICT found:string
-- @repeat harmless: the second call answers ABSENT
-- @include once-record
local lock = KEYS[1]
local record = KEYS[2]

local kept, strange = read_record(record)
if strange then return { CONFLICT, strange } end
if redis.call('PTTL', lock) ~= -2 then return { RUNNING } end
if not kept.state then return { ABSENT } end
redis.call('HDEL', record, 'state', 'owner', 'attempt', 'fence', 'print', 'reason', 'payload')
return { FORGOTTEN }
