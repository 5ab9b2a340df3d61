#!lua flags=allow-oom
--- Frees the lock of a run that does not say how it ended. A run that never began is not counted.
-- @key lock hash: one field, holder -> hold count
-- @key record hash: state, owner, attempt, fence, print, reason, payload; or the lock's key again: the record is left alone
-- @arg holder string: <session>:<hold number>
-- @arg has_run integer: 1 if the body may have begun; 0: nobody was told of the start
-- @arg channel string: where those listen who wait for the end
-- @arg mode string: how to tell them: nobody, plain, sharded or both
-- @outcome RELEASED receivers:integer
-- @outcome GONE
-- @repeat harmless: the second call answers GONE
-- @include notify
local lock = KEYS[1]
local record = KEYS[2]
local holder = ARGV[1]
local has_run = tonumber(ARGV[2])
local channel = ARGV[3]
local mode = ARGV[4]

if redis.call('HDEL', lock, holder) == 0 then return { GONE } end
local kept = redis.pcall('HMGET', record, 'state', 'owner', 'attempt')
if has_run == 0 and kept[1] == 'running' and kept[2] == holder then
  -- Nobody ran: the attempt before this one is the last.
  local before = tonumber(kept[3]) - 1
  if before > 0 then
    redis.call('HSET', record, 'state', 'idle', 'owner', '', 'attempt', before)
  else
    redis.call('HDEL', record, 'state', 'owner', 'attempt', 'fence', 'print', 'reason', 'payload')
  end
end
local receivers = notify(mode, channel, '0')
return { RELEASED, receivers }
