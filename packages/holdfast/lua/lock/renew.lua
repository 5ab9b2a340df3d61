#!lua flags=allow-oom
--- Restarts the lease of each hold that still has its lock. Never re-creates one.
-- @each key lock hash: one field, holder -> hold count
-- @each arg holder string: <session>:<hold number>
-- @each arg lease_ms digits, ms
-- @each outcome RENEWED GONE FAILED
-- @repeat harmless: the lease is stated, not added, and never made shorter
local outcomes = {}
for i = 1, #KEYS do
  local lock = KEYS[i]
  local holder = ARGV[2 * i - 1]
  local lease_ms = ARGV[2 * i]
  local mine = redis.pcall('HEXISTS', lock, holder)
  if mine == 1 then
    -- Never shorter: a request without an answer may arrive late, behind one that stated more.
    mine = redis.pcall('PEXPIRE', lock, lease_ms, 'GT')
    -- It has more, or has lost its expiry. Written all the same: a count of replicas is of those that have this write.
    if mine == 0 then
      mine = redis.pcall('PEXPIRE', lock, math.max(redis.call('PTTL', lock), tonumber(lease_ms)))
    end
  end
  if mine == 1 then
    outcomes[i] = RENEWED
  elseif mine == 0 or string.sub(mine['err'], 1, 9) == 'WRONGTYPE' then
    outcomes[i] = GONE
  else
    outcomes[i] = FAILED
  end
end
return outcomes
