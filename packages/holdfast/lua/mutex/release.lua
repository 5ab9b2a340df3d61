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
-- @include has-line
-- @include notify
local mutex = KEYS[1]
local line = KEYS[2]
local token = ARGV[1]
local channel = ARGV[2]
local mode = ARGV[3]
local is_vote = tonumber(ARGV[4])

-- Where something else stands under the key, a wait leaves the line all the same.
local owner = redis.pcall('GET', mutex)
local was_owner = owner == token
if was_owner then redis.call('DEL', mutex) end
local receivers = 0
if is_vote == 1 or not has_line(line) then
  if type(owner) == 'table' then error(owner) end
  if not was_owner then return { GONE } end
  receivers = notify(mode, channel, '0')
  return receivers
end
-- @include mutex-grant
-- @include release-line
-- The end of lock/release.lua says the same of a lock. A function in an include would be made at each run that comes here, and would
-- hide from the check of the header which outcomes this script gives.
local is_done, heard, was_waiting = pcall(go_on, mutex, mutex, line, token, was_owner, mode, channel, true)
if was_owner then
  -- What comes after a release does not undo it.
  receivers = is_done and heard or notify(mode, channel, '0')
  return receivers
end
if not is_done then error(type(heard) == 'table' and heard or { err = heard }) end
if was_waiting then return { LEFT } end
if type(owner) == 'table' then error(owner) end
return { GONE }
