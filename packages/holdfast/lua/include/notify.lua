-- Wakes the waiters on a channel, if one is named, and returns how many connections heard it. A refused PUBLISH (an ACL without
-- the channel) must not undo a release: waiters then fall back to their own timers.
local function notify(channel, message)
  if channel == '' then return 0 end
  local receivers = redis.pcall('PUBLISH', channel, message)
  if type(receivers) ~= 'number' then return 0 end
  return receivers
end
