#!lua flags=no-writes
--- Tells who a session is: the three fields of its record, whatever else stands beside them.
-- @key record hash: application, host, pid
-- @outcome FOUND application:string host:string pid:string
-- @outcome ABSENT
-- @repeat harmless: it reads
local record = KEYS[1]

-- Anybody who can write to Redis may have written the record. No application or host of ours is longer than this.
local function is_ours(value)
  return value and value ~= '' and #value <= 1024
end

local found = redis.call('HMGET', record, 'application', 'host', 'pid')
local application = found[1]
local host = found[2]
local pid = found[3]
if is_ours(application) and is_ours(host) and pid and #pid <= 15 and string.match(pid, '^%d+$') then
  return { FOUND, application, host, pid }
end
return { ABSENT }
