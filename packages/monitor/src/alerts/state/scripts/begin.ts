/**
 * The first step of a leader: raises the fence and reads the state at the same moment. A leader that read first and
 * raised the fence after would overwrite what the leader before it wrote in between.
 */
import { FENCED, StateScript, WHOLE_STATE } from './script.ts';

/** Keys: meta, alerts, delivery, tries, silences, outage, receivers, then the outboxes. Arguments: fence. */
export const BEGIN: StateScript = new StateScript(`${FENCED}
redis.call('HSET', meta, 'fence', fence)
local reply = { 'OK', now_ms, redis.call('HGETALL', meta) }
${WHOLE_STATE}`);
