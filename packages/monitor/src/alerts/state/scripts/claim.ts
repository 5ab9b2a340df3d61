/**
 * Takes the next delivery of a receiver in hand: counts the try and hides the delivery for as long as a try may take. It
 * stays at the head of its list until it is settled, so a leader that dies meanwhile leaves it for the next one.
 */
import { FENCED, StateScript } from './script.ts';

/** Keys: meta, delivery, tries, outbox. Arguments: fence, for how long to hide it. */
export const CLAIM: StateScript = new StateScript(`${FENCED}
local delivery, tries, outbox = KEYS[2], KEYS[3], KEYS[4]
while true do
  local id = redis.call('LINDEX', outbox, 0)
  if not id then
    return { 'EMPTY' }
  end
  local body = redis.call('HGET', delivery, id)
  if body then
    local count, next_ms = string.match(redis.call('HGET', tries, id) or '0 0 0 ', '^(%d+) (%d+)')
    if tonumber(next_ms) > now_ms then
      return { 'WAIT', tonumber(next_ms) - now_ms }
    end
    local state = string.format('%d %.0f %.0f ', count + 1, now_ms + ARGV[2], now_ms)
    redis.call('HSET', tries, id, state)
    return { 'CLAIMED', now_ms, id, count + 1, body }
  end
  redis.call('LPOP', outbox)
  redis.call('HDEL', tries, id)
end
`);
