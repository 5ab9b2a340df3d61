#!lua flags=allow-oom
--- Takes a mutex away from one owner or from whoever has it, and gives it to the next in line.
-- @key mutex any type: what stands under the name
-- @key line hash: who waits, see include/line.lua
-- @beside left string: the words, for the owner that lost it; absent without words
-- @arg owner string: from whom, as inspect shows it; empty: from whoever has it
-- @arg channel string: where those listen who have no ticket
-- @arg mode string: how to tell them: plain, sharded or both
-- @arg mailbox string: the channel of a session, less its id; empty on a server of a quorum, which has no line
-- @arg words string: why, in the operator's words; told to the owner
-- @outcome RELEASED owner:string receivers:integer
-- @outcome HELD owner:string ttl_ms:integer
-- @outcome GONE
-- @outcome CONFLICT found:string
-- @repeat harmless: the second call answers GONE; without an owner it may take it from the next one
-- @include mutex-owner
-- @include mutex-grant
-- @include revoke
-- @include leave-words
local mutex = KEYS[1]
local line = KEYS[2]
local owner = ARGV[1]
local channel = ARGV[2]
local mode = ARGV[3]
local mailbox = ARGV[4]
local words = ARGV[5]

local found = redis.call('TYPE', mutex)['ok']
if found == 'none' then return { GONE } end
if found ~= 'string' then return { CONFLICT, found } end
local ttl_ms = redis.call('PTTL', mutex)
-- A mutex always expires; a string that never does is somebody's data.
if ttl_ms == -1 then return { CONFLICT, 'a string without an expiry' } end
local shown = mutex_owner(mutex)
if not shown then return { CONFLICT, 'a string too long for a mutex' } end
if owner ~= '' and owner ~= shown then return { HELD, shown, ttl_ms } end
-- Its token says nothing about its session, so its owner is told by its next renewal only.
local receivers = revoke(mutex, mutex, line, '', channel, mode, mailbox, '')
leave_words(mutex, shown, words, ttl_ms)
return { RELEASED, shown, receivers }
