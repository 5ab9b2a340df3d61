#!lua flags=allow-oom
--- Raises the fence counter to the end of a block that a majority of servers agreed on, while the hold is ours here.
-- @key lock hash: one field, holder -> hold count
-- @key fence string: the last fence given out
-- @arg holder string: <session>:<hold number>
-- @arg last integer: the last fence of the block
-- @arg fence_ttl_ms integer, ms: how long the counter outlives the lease and its last fence, 0 for ever
-- @arg is_given integer: 1 once a majority has it: then it is raised also where nobody holds the lock
-- @outcome RAISED last:integer
-- @bare RAISED last
-- @outcome GONE
-- @repeat harmless: the counter is stated, and never lowered
-- @include now
-- @include counter
local lock = KEYS[1]
local fence = KEYS[2]
local holder = ARGV[1]
local last = tonumber(ARGV[2])
local fence_ttl_ms = tonumber(ARGV[3])
local is_given = tonumber(ARGV[4])

local is_ours = redis.call('HEXISTS', lock, holder) == 1
local lease_ms = redis.call('PTTL', lock)
-- Under another owner the counter is the end of that owner's block, and must stay it.
if not is_ours and (is_given == 0 or lease_ms ~= -2) then return { GONE } end
local text = redis.call('GET', fence)
local stored = tonumber(string.match(text or '0', '^%d+$'))
if not stored then return { GONE } end
-- Others have been here before our vote came: one of them may have been given a fence of this block.
if stored > last then return { GONE } end
if stored < last then
  local now_ms, now_us = server_now()
  -- A counter that is not there may have been lost with later fences in it: the server's time is past those.
  local to = (text or is_ours) and last or math.max(last, now_us)
  local reply = store_counter(fence, text, to, fence_ttl_ms, now_ms, math.max(lease_ms, 0))
  if reply['err'] then error(reply) end
end
if not is_ours then return { GONE } end
return last
