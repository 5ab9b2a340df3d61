#!lua flags=no-writes,allow-cross-slot-keys
--- One step of a walk over the key space: the keys that look like a lock or a mutex, by little of what they hold.
-- @arg cursor string: '0' to begin, then what the last step answered
-- @arg pattern string: a glob
-- @arg count integer: how many keys to look at
-- @arg key_bytes_max integer: no lock has a longer key
-- @arg wants_all integer: 1 for strings too that other libraries may use as a mutex
-- @outcome FOUND cursor:string keys:strings
-- @repeat harmless: it reads
local cursor = ARGV[1]
local pattern = ARGV[2]
local count = tonumber(ARGV[3])
local key_bytes_max = tonumber(ARGV[4])
local wants_all = tonumber(ARGV[5])

-- Our tokens say whose they are. Those of others are random: hexadecimal, base64, a UUID.
local function is_mutex(key)
  local bytes = redis.call('STRLEN', key)
  local is_foreign = wants_all == 1 and bytes >= 22 and bytes <= 64
  if bytes ~= 41 and not is_foreign then return false end
  if redis.call('PTTL', key) == -1 then return false end
  local value = redis.call('GET', key)
  if bytes == 41 and string.match(value, '^[0-9a-f]+:holdfast$') then return true end
  return is_foreign and string.match(value, '^[%w+/_-]+=?=?$') ~= nil
end

local function is_lock(key)
  if redis.call('HLEN', key) ~= 1 then return false end
  return string.match(redis.call('HKEYS', key)[1], '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') ~= nil
end

local page = redis.call('SCAN', cursor, 'MATCH', pattern, 'COUNT', count)
local reply = { FOUND, page[1] }
for i = 1, #page[2] do
  local key = page[2][i]
  if #key <= key_bytes_max then
    -- Refused where a slot is just arriving: then whoever has the slot is asked about the key.
    local found = redis.pcall('TYPE', key)
    local is_told = found['err'] ~= nil
    if found['ok'] == 'string' then is_told = is_mutex(key) end
    if found['ok'] == 'hash' then is_told = is_lock(key) end
    if is_told then reply[#reply + 1] = key end
  end
end
return reply
