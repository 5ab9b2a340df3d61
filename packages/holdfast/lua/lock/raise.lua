#!lua flags=allow-oom
--- Raises the fence counter to the end of a block that a majority of servers agreed on, while the hold is ours here.
-- @key lock hash: one field, holder -> hold count
-- @key fence string: the last fence given out
-- @arg holder string: <session>:<hold number>
-- @arg last integer: the last fence of the block
-- @arg fence_ttl_ms digits, ms: life of the counter, 0 for ever
-- @outcome RAISED last:integer
-- @bare RAISED last
-- @outcome GONE
-- @repeat harmless: the counter is stated, and never lowered
local lock = KEYS[1]
local fence = KEYS[2]
local holder = ARGV[1]
local last = tonumber(ARGV[2])
local fence_ttl_ms = ARGV[3]

if redis.call('HEXISTS', lock, holder) == 0 then return { GONE } end
local stored = tonumber(string.match(redis.call('GET', fence) or '0', '^%d+$'))
if not stored then return { GONE } end
-- Others have been here before our vote came: one of them may have been given a fence of this block.
if stored > last then return { GONE } end
if stored < last then
  -- Written with %.0f: Lua would write 1.79e+15.
  local text = string.format('%.0f', last)
  if fence_ttl_ms ~= '0' then
    redis.call('SET', fence, text, 'PX', fence_ttl_ms)
  else
    redis.call('SET', fence, text)
  end
end
return last
