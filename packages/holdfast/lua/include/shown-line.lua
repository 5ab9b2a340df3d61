-- @include tickets
-- @include read-ticket
-- @include listeners
-- Whether the process of a ticket would hear of its grant. Nobody can count the listeners of mode `b`.
local function hears(ticket)
  if ticket.mode == 'n' or ticket.mode == 'b' then return ticket.mode == 'b' end
  return listeners_of(ticket.mode == 's' and 'sharded' or 'plain', ticket.channel) > 0
end

-- The line as it is shown to people: how many tickets there are; a row of text for each of the first `shown_max`; for how long a
-- free key is still left to guests; and the holder that may keep the lock unowned (include/linger.lua), or nothing. A row has the
-- ms that the process has waited, `h` if it hears or `d` if it does not, and its session, which its channel ends with. It does not
-- have the holder: that of a mutex is the right to release it.
-- Of a long line the first thousand places are read. Some may be empty; tickets behind them are only counted.
local function shown_line(line, shown_max, now_ms)
  local ends = redis.pcall('HMGET', line, 'first', 'last', 'open', 'linger')
  local place, last, open = tonumber(ends[1] or ''), tonumber(ends[2] or ''), tonumber(ends[3] or '')
  if not place or not last or not open then return 0, '', 0, '' end
  local tickets, shown, rows = tickets_in(line), 0, ''
  local beyond = place + 1000
  while place <= last and place < beyond and shown < shown_max do
    local places = {}
    for i = 1, math.min(100, shown_max) do places[i] = place + i - 1 end
    local texts = redis.call('HMGET', line, unpack(places))
    for i = 1, #places do
      local ticket = read_ticket(texts[i])
      if ticket and tonumber(ticket.deadline_ms) < now_ms then
        tickets = tickets - 1
      elseif ticket and shown < shown_max then
        local waited_ms = math.max(0, now_ms - tonumber(ticket.since_ms))
        local session = string.match(string.sub(ticket.channel, -36), '^[%x-]+$') or '?'
        rows = rows .. string.format('%.0f %s %s\n', waited_ms, hears(ticket) and 'h' or 'd', session)
        shown = shown + 1
      end
    end
    place = place + #places
  end
  -- A moment further off than any window is of a clock that was set back.
  local open_ms = open - now_ms
  if open_ms < 0 or open_ms > 80 then open_ms = 0 end
  return tickets, rows, open_ms, string.match(ends[4] or '', '^%S+') or ''
end
