-- Whether there is a line of waiters. What cannot be read counts as one: who reads it then meets the reason.
-- A bundle asks once for the lines of all of its calls, and here only if there is any.
local function has_line(line)
  return redis.pcall('HLEN', line) ~= 0
end
