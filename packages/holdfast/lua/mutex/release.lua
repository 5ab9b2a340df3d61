#!lua flags=allow-oom
--- Deletes the mutex if the token is still its owner's, and wakes the waiters.
-- @key mutex string: the owner's token
-- @arg token string: random, one per hold
-- @arg channel string: where waiters listen
-- @arg mode string: whom to wake: nobody, plain, sharded or both
-- @outcome RELEASED receivers:integer
-- @bare RELEASED receivers
-- @outcome GONE
-- @bundle
-- @repeat harmless: the second call answers GONE
-- @include notify
local mutex = KEYS[1]
local token = ARGV[1]
local channel = ARGV[2]
local mode = ARGV[3]

if redis.call('GET', mutex) ~= token then return { GONE } end
redis.call('DEL', mutex)
return notify(mode, channel, '0')
