#!lua flags=allow-oom
--- Takes a lock away from one owner or from whoever has it, tells that owner, and gives the lock to the next in line.
-- @key lock any type: what stands under the name
-- @key fence string: the last fence given out
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
-- @outcome MUTEX
-- @outcome CONFLICT found:string
-- @repeat harmless: the second call answers GONE; without an owner it may take it from the next one
-- @include is-lock
-- @include lock-grant
-- @include revoke
-- @include leave-words
local lock = KEYS[1]
local fence = KEYS[2]
local line = KEYS[3]
local owner = ARGV[1]
local channel = ARGV[2]
local mode = ARGV[3]
local mailbox = ARGV[4]
local words = ARGV[5]

local found = redis.call('TYPE', lock)['ok']
if found == 'none' then return { GONE } end
if found == 'string' then return { MUTEX } end
if found ~= 'hash' or redis.call('HLEN', lock) ~= 1 then return { CONFLICT, found } end
local ttl_ms = redis.call('PTTL', lock)
local field = redis.call('HGETALL', lock)
if not is_lock(field, ttl_ms) then return { CONFLICT, 'a hash that is not a lock' } end
local holder = field[1]
if owner ~= '' and owner ~= holder then return { HELD, holder, ttl_ms } end
local receivers = revoke(lock, fence, line, holder, channel, mode, mailbox, words)
leave_words(lock, holder, words, ttl_ms)
return { RELEASED, holder, receivers }
