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
-- @include mutex-grant
-- @include release-line
-- @include notify
local mutex = KEYS[1]
local line = KEYS[2]
local token = ARGV[1]
local channel = ARGV[2]
local mode = ARGV[3]
local is_vote = tonumber(ARGV[4])

local was_owner = redis.call('GET', mutex) == token
if was_owner then redis.call('DEL', mutex) end
local is_done, receivers, was_waiting = true
if is_vote == 0 then
  is_done, receivers, was_waiting = pcall(go_on, mutex, mutex, line, token, was_owner, mode, channel, true)
end
-- What comes after a release does not undo it.
if was_owner and not (is_done and receivers) then receivers = notify(mode, channel, '0') end
if was_owner then return receivers end
if not is_done then error({ err = receivers }) end
if was_waiting then return { LEFT } end
return { GONE }
