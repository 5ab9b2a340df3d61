-- @include release-line
-- Takes a key away from its owner. The next in line who hears is the owner after it, in the same step; without one the public
-- channel is told. Returns how many heard that. `mailbox` and the session's id are the channel of a session; it is
-- empty on a server of a quorum, which has no line. `holder` is who loses the key, or '' where that must not be told.
-- `words` are the operator's, and may be empty.
local function revoke(key, fence, line, holder, channel, mode, mailbox, words)
  redis.call('DEL', key)
  -- Sessions of ours are UUIDs of version 8. An owner that does not hear this is told by its next renewal.
  local session = string.match(holder, '^(%x+%-%x+%-8%x+%-%x+%-%x+):%d+$')
  if session and mailbox ~= '' then
    notify(mode, mailbox .. session, 'x ' .. holder .. ' revoked' .. (words ~= '' and ' ' .. words or ''))
  end
  local is_done, receivers = true
  if mailbox ~= '' then
    is_done, receivers = pcall(go_on, key, fence, line, holder, true, mode, channel)
  end
  -- What comes after it does not undo it.
  if is_done and receivers then return receivers end
  return notify(mode, channel, '0')
end
