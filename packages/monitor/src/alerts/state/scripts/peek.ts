/** Reads what the page shows: for monitors that do not lead. */
import { StateScript, WHOLE_STATE } from './script.ts';

/** Keys: meta, alerts, delivery, tries, silences, outage, receivers, then the outboxes, as for `begin`. */
export const PEEK: StateScript = new StateScript(`#!lua flags=no-writes
local time = redis.call('TIME')
local reply = { 'OK', time[1] * 1000 + math.floor(time[2] / 1000), redis.call('HGETALL', KEYS[1]) }
${WHOLE_STATE}`);
