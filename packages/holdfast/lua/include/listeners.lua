-- How many connections listen on a channel; who listens both ways is counted once.
local function listeners_of(mode, channel)
  local count = 0
  if mode ~= 'sharded' then count = redis.pcall('PUBSUB', 'NUMSUB', channel)[2] or 0 end
  if mode ~= 'plain' then
    local sharded = redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)[2] or 0
    if sharded > count then count = sharded end
  end
  return count
end
