/** Ends a try: the delivery leaves the outbox (sent, or given up), or waits for its next try. */
import { FENCED, HISTORY_MAX, StateScript } from './script.ts';

/**
 * Keys: meta, delivery, tries, outbox, history, receivers. Arguments: fence, id, `done` or `retry`, delay until the next
 * try, error, name of the receiver, how it fared as JSON, kind of the history entry. A delivery that is not the head any
 * more was settled before: the answer of that call was lost.
 */
export const SETTLE: StateScript = new StateScript(`${FENCED}
local delivery, tries, outbox, history, receivers = KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local id = ARGV[2]
if redis.call('LINDEX', outbox, 0) ~= id then
  return { 'GONE' }
end
if ARGV[3] == 'retry' then
  local count = string.match(redis.call('HGET', tries, id) or '1', '^%d+')
  local state = string.format('%d %.0f %.0f %s', count, now_ms + ARGV[4], now_ms, ARGV[5])
  redis.call('HSET', tries, id, state)
else
  redis.call('LPOP', outbox)
  redis.call('HDEL', delivery, id)
  redis.call('HDEL', tries, id)
  redis.call('XADD', history, 'MAXLEN', '~', '${HISTORY_MAX}', '*', 'kind', ARGV[8], 'entry', ARGV[7])
end
redis.call('HSET', receivers, ARGV[6], ARGV[7])
return { 'OK', now_ms }
`);
