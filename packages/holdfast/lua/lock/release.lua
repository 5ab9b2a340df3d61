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
-- @include now
-- @include lock-grant
-- @include release-line
local lock = KEYS[1]
local fence = KEYS[2]
local line = KEYS[3]
local holder = ARGV[1]
local channel = ARGV[2]
local mode = ARGV[3]
local is_vote = tonumber(ARGV[4])

local was_owner = redis.call('HDEL', lock, holder) == 1
local has_line = is_vote == 0 and redis.call('EXISTS', line) == 1
if not has_line and not was_owner then return { GONE } end
local receivers, was_waiting
if has_line then
  local now_ms, now_us = server_now()
  -- Also not free where a field of somebody else is left.
  local is_free = redis.call('EXISTS', lock) == 0
  receivers, was_waiting = go_on(lock, fence, line, holder, is_free, was_owner, mode, channel, false, now_ms, now_us)
else
  receivers = notify(mode, channel, '0')
  -- Guests have heard it: they come before us for a moment.
  if receivers > 0 and is_vote == 0 then
    local now_ms = server_now()
    leave_to_guests(line, now_ms)
  end
end
if was_owner then return receivers end
if was_waiting then return { LEFT } end
return { GONE }
