#!lua flags=allow-oom
--- Ends a hold, whatever its count, or a wait. The first in line who hears is the next owner. Fields that are not ours stay.
-- @key lock hash: one field, holder -> hold count
-- @key fence string: the last fence given out
-- @key line hash: who waits, see include/line.lua
-- @arg holder string: <session>:<hold number>
-- @arg channel string: where guests listen
-- @arg mode string: how to tell them: nobody, plain, sharded or both
-- @arg is_vote integer: 1 on a server of a quorum, which has no line
-- @outcome RELEASED receivers:integer
-- @bare RELEASED receivers
-- @outcome LEFT
-- @outcome GONE
-- @bundle
-- @repeat harmless: the second call answers GONE
-- @include has-line
-- @include notify
local lock = KEYS[1]
local fence = KEYS[2]
local line = KEYS[3]
local holder = ARGV[1]
local channel = ARGV[2]
local mode = ARGV[3]
local is_vote = tonumber(ARGV[4])

-- Where something else stands under the key, a wait leaves the line all the same.
local removed = redis.pcall('HDEL', lock, holder)
local is_lock_key = type(removed) == 'number'
local was_owner = removed == 1
local is_alone = is_vote == 1 or not has_line(line)
local receivers = 0
if is_alone then
  if not is_lock_key then error(removed) end
  if not was_owner then return { GONE } end
  receivers = notify(mode, channel, '0')
  if receivers == 0 or is_vote == 1 then return receivers end
end
-- @include lock-grant
-- @include release-line
-- @include window
if is_alone then
  -- Guests have heard it: they come before us for a moment.
  pcall(leave_to_guests, lock, line)
  return receivers
end
local is_done, heard, was_waiting = pcall(go_on, lock, fence, line, holder, was_owner, mode, channel, false)
if was_owner then
  -- What comes after a release does not undo it.
  receivers = is_done and heard or notify(mode, channel, '0')
  return receivers
end
if not is_done then error(type(heard) == 'table' and heard or { err = heard }) end
if was_waiting then return { LEFT } end
if not is_lock_key then error(removed) end
return { GONE }
