#!lua flags=no-writes
--- Tells the settings of a server that a lock depends on.
-- @outcome FOUND version:string role:string maxmemory:string policy:string uptime_s:string run_id:string now_ms:integer
-- @repeat harmless: it reads
-- @include now
local function setting(section, name)
  return string.match(redis.call('INFO', section), name .. ':([^\r\n]*)') or ''
end

local now_ms = server_now()
return {
  FOUND,
  setting('server', 'redis_version'),
  setting('replication', 'role'),
  setting('memory', 'maxmemory'),
  setting('memory', 'maxmemory_policy'),
  setting('server', 'uptime_in_seconds'),
  setting('server', 'run_id'),
  now_ms,
}
