-- What becomes of the tickets that a walk along the line has passed over, because their processes do not hear. `place` is where
-- the walk ended, and nothing but these tickets stands before it.
-- As a rule they move up, in their order, to the places right before `place`, and the line begins there: the empty places
-- between them are never walked again. A hundred of them without anybody who hears are processes that died at
-- once. Those make room: who lives states its ticket anew with its next ask.
local function keep_passed(line, passed, place, first, is_over)
  local front = place
  if is_over and #passed >= 100 then
    for i = 1, #passed do redis.call('HDEL', line, passed[i].place, '#' .. passed[i].holder) end
  else
    front = place - #passed
    for i = #passed, 1, -1 do
      local to = front + i - 1
      if to ~= passed[i].place then
        redis.call('HDEL', line, passed[i].place)
        redis.call('HSET', line, to, passed[i].text, '#' .. passed[i].holder, to)
      end
    end
  end
  if front ~= first then redis.call('HSET', line, 'first', front) end
end
