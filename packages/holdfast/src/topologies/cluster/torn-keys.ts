/**
 * Keys of one slot that is moving: some are at the node that it leaves and some at the one that it goes to, and a call
 * that names both kinds is refused with TRYAGAIN. A lease must not be lost for that, so it is kept by calls with one key.
 */
import type { ServerFailure } from '../../errors.ts';
import type { KeepResult, RenewItem } from '../old-topology.ts';

/** Whether some of the keys have moved and some have not. Each alone is on one side. */
export function isTorn(answers: readonly KeepResult[]): boolean {
  return refusalOfAll(answers)?.text.startsWith('TRYAGAIN') === true;
}

export function hasOneKey({ protocol, isWithoutCounter }: RenewItem): boolean {
  return !protocol.isFenced || isWithoutCounter === true;
}

export function withoutCounter(item: RenewItem): RenewItem {
  return { ...item, isWithoutCounter: true };
}

/** What all of a batch were refused with, if they were: a call is served or not as a whole. */
export function refusalOfAll(answers: readonly KeepResult[]): ServerFailure | undefined {
  const [first] = answers;
  if (first?.is !== 'failed' || !answers.every(({ is }) => is === 'failed')) return undefined;
  return first.servers[0];
}
