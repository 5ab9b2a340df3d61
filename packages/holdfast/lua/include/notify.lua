-- Wakes the waiters on a channel: `mode` is nobody, plain, sharded or both. Returns how many connections heard it;
-- who listens both ways is counted once. A refused message (an ACL without the channel, a server without sharded
-- channels) must not undo a release: waiters then fall back to their own timers.
local function notify(mode, channel, message)
  local receivers = 0
  if mode == 'plain' or mode == 'both' then
    local heard = redis.pcall('PUBLISH', channel, message)
    if type(heard) == 'number' then receivers = heard end
  end
  if mode == 'sharded' or mode == 'both' then
    local heard = redis.pcall('SPUBLISH', channel, message)
    if type(heard) == 'number' and heard > receivers then receivers = heard end
  end
  return receivers
end
