-- How many connections listen on a channel; who listens both ways is counted once. Nobody where nobody is to be told.
local function listeners_of(mode, channel)
  local count = 0
  if mode == 'plain' or mode == 'both' then count = redis.pcall('PUBSUB', 'NUMSUB', channel)[2] or 0 end
  if mode == 'sharded' or mode == 'both' then
    local sharded = redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)[2] or 0
    if sharded > count then count = sharded end
  end
  return count
end
