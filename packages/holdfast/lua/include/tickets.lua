-- How many tickets are in a line: two fields each, besides the eight that every line has (include/line.lua). None where there is
-- something else, or where the user may not look.
local function tickets_in(line)
  local fields = redis.pcall('HLEN', line)
  if type(fields) == 'table' then return 0 end
  return math.max(0, math.floor((fields - 8) / 2))
end
