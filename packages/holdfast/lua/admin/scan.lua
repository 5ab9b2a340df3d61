#!lua flags=no-writes
--- One step of a walk over the key space.
-- @arg cursor string: '0' to begin, then what the last step answered
-- @arg pattern string: a glob
-- @arg count integer: how many keys to look at
-- @outcome FOUND cursor:string keys:strings
-- @repeat harmless: it reads
local cursor = ARGV[1]
local pattern = ARGV[2]
local count = tonumber(ARGV[3])

local page = redis.call('SCAN', cursor, 'MATCH', pattern, 'COUNT', count)
local reply = { FOUND, page[1] }
for i = 1, #page[2] do reply[i + 2] = page[2][i] end
return reply
