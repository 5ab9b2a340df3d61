/** Reads what the page shows: for monitors that do not lead. */
import { StateScript } from './script.ts';

/** Keys: meta, alerts, delivery, tries, silences, outage, receivers, then the outboxes, as for `begin`. */
export const PEEK: StateScript = new StateScript(`#!lua flags=no-writes
local time = redis.call('TIME')
local reply = { 'OK', time[1] * 1000 + math.floor(time[2] / 1000), redis.call('HGETALL', KEYS[1]) }
for index = 2, 7 do
  reply[#reply + 1] = redis.call('HGETALL', KEYS[index])
end
for index = 8, #KEYS do
  reply[#reply + 1] = redis.call('LRANGE', KEYS[index], 0, -1)
end
return reply
`);
