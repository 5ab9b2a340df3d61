#!lua flags=allow-oom
--- Ends a hold, whatever its count, and wakes the waiters. Fields that are not ours stay.
-- @key lock hash: one field, holder -> hold count
-- @arg holder string: <session>:<hold number>
-- @arg channel string: where waiters listen
-- @arg mode string: whom to wake: nobody, plain, sharded or both
-- @outcome RELEASED receivers:integer
-- @bare RELEASED receivers
-- @outcome GONE
-- @bundle
-- @repeat harmless: the second call answers GONE
-- @include notify
local lock = KEYS[1]
local holder = ARGV[1]
local channel = ARGV[2]
local mode = ARGV[3]

if redis.call('HDEL', lock, holder) == 0 then return { GONE } end
-- Also where a field of somebody else is left: who waits then hears of the conflict at once.
return notify(mode, channel, '0')
