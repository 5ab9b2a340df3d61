#!lua flags=allow-oom
--- Removes the record of a session that has ended.
-- @key record hash: application, host, pid
-- @outcome GONE
-- @repeat harmless: what is gone stays gone
local record = KEYS[1]

redis.call('DEL', record)
return { GONE }
