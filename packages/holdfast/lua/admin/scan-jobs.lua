#!lua flags=no-writes,allow-cross-slot-keys
--- One step of a walk over the key space: the keys that look like the marker of a job.
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
for i = 1, #page[2] do
  local key = page[2][i]
  -- Refused where a slot is just arriving: then whoever has the slot is asked about the key.
  local slot = redis.pcall('HMGET', key, 'slot')
  if slot['err'] == nil and slot[1] or (slot['err'] and string.sub(slot['err'], 1, 9) ~= 'WRONGTYPE') then reply[#reply + 1] = key end
end
return reply
