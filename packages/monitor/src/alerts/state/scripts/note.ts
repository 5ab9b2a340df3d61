/**
 * Writes what any monitor may write, leader or not: a silence, an acknowledgement, or what it said while the state was
 * away. The leader finds it with its next decision.
 */
import { StateScript } from './script.ts';

/** More than an operator ever sets; a program that sets them in a loop is refused. */
const NOTES_MAX = 1_000;

/** Keys: the hash. Arguments: field, value. */
export const NOTE: StateScript = new StateScript(`#!lua flags=allow-oom
local notes = KEYS[1]
if redis.call('HLEN', notes) >= ${NOTES_MAX} and redis.call('HEXISTS', notes, ARGV[1]) == 0 then
  return { 'FULL' }
end
redis.call('HSET', notes, ARGV[1], ARGV[2])
return { 'OK' }
`);
