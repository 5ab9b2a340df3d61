#!lua flags=allow-oom
--- Deletes the mutex if the token is still its owner's, or ends a wait. The first in line who hears is the next owner.
-- @key mutex string: the owner's token
-- @key line hash: who waits, see include/line.lua
-- @arg token string: random, one per hold
-- @arg channel string: where those listen who cannot be told by name
-- @arg mode string: how to tell them: nobody, plain, sharded or both
-- @arg is_vote integer: 1 on a server of a quorum, which has no line
-- @outcome RELEASED receivers:integer
-- @bare RELEASED receivers
-- @outcome LEFT
-- @outcome GONE
-- @bundle
-- @repeat harmless: the second call answers GONE
-- @include now
-- @include mutex-grant
-- @include release-line
local mutex = KEYS[1]
local line = KEYS[2]
local token = ARGV[1]
local channel = ARGV[2]
local mode = ARGV[3]
local is_vote = tonumber(ARGV[4])

local was_owner = redis.call('GET', mutex) == token
if was_owner then redis.call('DEL', mutex) end
local has_line = is_vote == 0 and redis.call('EXISTS', line) == 1
if not has_line then
  if was_owner then return notify(mode, channel, '0') end
  return { GONE }
end
local now_ms, now_us = server_now()
local is_free = was_owner or redis.call('EXISTS', mutex) == 0
local receivers, was_waiting =
  go_on(mutex, mutex, line, token, is_free, was_owner, mode, channel, true, now_ms, now_us)
if was_owner then return receivers end
if was_waiting then return { LEFT } end
return { GONE }
