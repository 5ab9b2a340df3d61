/**
 * The two scripts that read locks, and one that reads a line. They write nothing, and say so (`no-writes`), so a user that can
 * only read may run them. Names come as ARGV: one call reads keys of many slots of one cluster node.
 *
 * The formats are those of docs/reference/keys.md. What is not a lock is told as `none`, never with its content.
 */
import { createHash } from 'node:crypto';

export interface Script {
  readonly source: string;
  readonly sha: string;
}

function script(source: string): Script {
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}

/** No name of a lock is longer, see keys/name.ts of holdfast; prefixes come on top. */
const KEY_BYTES_MAX = 2_048;

/** Names of one `look`: about half a millisecond of the server. */
export const LOOK_NAMES_MAX = 128;

/** Keys that one `survey` looks at. */
export const SURVEY_COUNT = 200;

/**
 * One step of a walk over all keys. ARGV: cursor, pattern, count, '1' for strings that may be a mutex of another library.
 * Answer: cursor, number of keys, then keys: `=` before those that look like a lock or a mutex of ours, `?` before those that may be
 * a mutex of others.
 */
export const SURVEY: Script = script(`#!lua flags=no-writes,allow-cross-slot-keys
local wants_strings = ARGV[4] == '1'
local own = { 'redisson_lock_token:', 'holdfast_line:', 'holdfast_session:', 'holdfast_revoked:', 'holdfast_monitor:', 'holdfast_audit' }
local page = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
local reply = { page[1], #page[2] }
local function is_own(key)
  for i = 1, #own do
    if string.sub(key, 1, #own[i]) == own[i] then return true end
  end
  return false
end
for i = 1, #page[2] do
  local key = page[2][i]
  if #key <= ${KEY_BYTES_MAX} and not is_own(key) then
    local found = redis.pcall('TYPE', key)['ok']
    if found == 'hash' and redis.call('HLEN', key) == 1 then
      local field = redis.call('HKEYS', key)[1]
      if field and string.match(field, '^%x+%-%x+%-%x+%-%x+%-%x+:%d+$') then reply[#reply + 1] = '=' .. key end
    elseif found == 'string' then
      local bytes = redis.call('STRLEN', key)
      if bytes == 41 and string.match(redis.call('GET', key), '^[0-9a-f]+:holdfast$') then
        reply[#reply + 1] = '=' .. key
      elseif wants_strings and bytes >= 16 and bytes <= 64 and redis.call('PTTL', key) >= 0 then
        reply[#reply + 1] = '?' .. key
      end
    end
  end
end
return reply`);

/**
 * What stands under names. Answer: the server's time in ms, then seven values for each name: kind (`lock`, `mutex`, `free`,
 * `none`, `away`: the slot is elsewhere), holder, count, PTTL, fence, tickets in line, joining time of the first in line.
 */
export const LOOK: Script = script(`#!lua flags=no-writes,allow-cross-slot-keys
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local reply = { now_ms }
local function tagged(prefix, key)
  if string.find(key, '{', 1, true) then return prefix .. key end
  return prefix .. '{' .. key .. '}'
end
local function put(kind, holder, count, ttl, fence, tickets, since)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = kind, holder, count, ttl
  reply[n + 5], reply[n + 6], reply[n + 7] = fence, tickets, since
end
-- Tickets of a line, and since when the first one waits whose process still asks. Eight fields are of the line itself.
local function line_of(key)
  -- A key that brings a brace has a line with two colons, so that no two keys share one.
  local line = string.find(key, '{', 1, true) and 'holdfast_line::' .. key or tagged('holdfast_line:', key)
  local fields = redis.pcall('HLEN', line)
  if type(fields) ~= 'number' or fields <= 8 then return 0, '' end
  local first = tonumber(redis.call('HGET', line, 'first') or '')
  if not first then return 0, '' end
  local places = {}
  for i = 1, 16 do places[i] = first + i - 1 end
  local texts = redis.call('HMGET', line, unpack(places))
  for i = 1, #texts do
    local deadline, since = string.match(texts[i] or '', '^%S+ %S+ %d+ %d+ %d+ %d+ (%d+) (%d+) ')
    if deadline and tonumber(deadline) >= now_ms then return math.floor((fields - 8) / 2), since end
  end
  return math.floor((fields - 8) / 2), ''
end
for i = 1, #ARGV do
  local key = ARGV[i]
  local answer = redis.pcall('TYPE', key)
  local found = answer['ok']
  if answer['err'] then
    put('away', '', '', 0, '', 0, '')
  else
    local tickets, since = line_of(key)
    local is_told = false
    if found == 'hash' and redis.call('HLEN', key) == 1 then
      local field = redis.call('HGETALL', key)
      local ttl = redis.call('PTTL', key)
      if #field[1] <= 1024 and #field[2] <= 15 and string.match(field[2], '^%d+$') then
        local fence = redis.pcall('GET', tagged('redisson_lock_token:', key))
        if type(fence) ~= 'string' or #fence > 16 or not string.match(fence, '^%d+$') then fence = '' end
        put('lock', field[1], field[2], ttl, fence, tickets, since)
        is_told = true
      end
    elseif found == 'string' and redis.call('STRLEN', key) <= 1024 then
      local ttl = redis.call('PTTL', key)
      local value = redis.call('GET', key)
      -- Any string without an expiry may be data of others; one in the form of ours is a mutex that never ends.
      if ttl >= 0 or (#value == 41 and string.match(value, '^[0-9a-f]+:holdfast$')) then
        put('mutex', redis.sha1hex(value), '1', ttl, '', tickets, since)
        is_told = true
      end
    end
    if not is_told then
      if found == 'none' and tickets > 0 then put('free', '', '0', 0, '', tickets, since)
      else put('none', '', '0', 0, '', 0, '') end
    end
  end
end
return reply`);
