/** Calls and answers in words, for the history; and what a grant gives. */
import { CallFailure, type Reply, type ScriptCall } from '../../src/index.ts';
import { lockAcquire } from '../../src/scripts/generated.ts';
import { OUTCOMES } from '../../src/scripts/outcome.ts';
import type { Published } from './world/simulated-node.ts';

const NAMES = new Map<unknown, string>(Object.entries(OUTCOMES).map(([name, number]) => [number, name]));

/** The end of a holder tells it from the others. */
export function describeCall({ script, keys, args }: ScriptCall): string {
  const holder = args[0] === undefined ? '' : ` …${args[0].replace(':holdfast', '').slice(-4)}`;
  return `${script.name} ${keys[0] ?? ''}${holder}`;
}

export function describeAnswer(answer: Reply | CallFailure): string {
  if (answer instanceof CallFailure) return answer.text;
  if (!Array.isArray(answer)) return String(answer);
  const [outcome, ...payload] = answer;
  return [NAMES.get(outcome) ?? String(outcome), ...payload].join(' ');
}

export interface Grant {
  readonly name: string;
  readonly holder: string;
  readonly first: number;
  readonly count: number;
}

const GRANT = /^g (\S+) (\d+) (\d+)/;

/** Whether a script has made somebody the owner who heard of it. */
export function isGivenOn(published: readonly Published[]): boolean {
  return published.some(({ message, receivers }) => receivers > 0 && GRANT.test(message));
}

/** The fences that a script has given to the first in line who heard of it, if it has. */
export function lineGrantOf(
  { script, keys }: ScriptCall,
  published: readonly Published[],
  owner: string | null,
): Grant | null {
  const heard = published.findLast(({ message, receivers }) => receivers > 0 && GRANT.test(message));
  if (heard === undefined || owner === null || !script.name.startsWith('lock.')) return null;
  const [, , first, count] = GRANT.exec(heard.message) ?? [];
  return { name: keys[0] as string, holder: owner, first: Number(first), count: Number(count) };
}

/** The fences that a node has given out with this answer, if it has. */
export function grantOf({ script, keys, args }: ScriptCall, answer: Reply | CallFailure): Grant | null {
  if (script.name !== 'lock.acquire' || answer instanceof CallFailure) return null;
  const outcome = lockAcquire.decode(answer);
  if (outcome.is !== 'GRANTED') return null;
  // Every acquire has a name, a holder and a number of fences.
  const [name, holder] = [keys[0] as string, args[0] as string];
  return { name, holder, first: outcome.firstFence, count: outcome.fences ?? Number(args[2]) };
}
