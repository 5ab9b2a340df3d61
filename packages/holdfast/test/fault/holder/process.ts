/** Starts a process that holds a lock: see `child.ts` for what it does then. */
import { type Child, startChild } from '../../support/processes/child.ts';
import type { ChildLine, ChildOrder } from './child.ts';

/** For tests with processes: one takes seconds to start on a busy machine, and its first words as long. */
export const SLOW = { timeout: 300_000 };
const START_LIMIT_MS = 120_000;

export interface Holder {
  readonly name: string;
  readonly child: Child<ChildLine>;
  /** What it said when it had the lock. */
  readonly held: ChildLine;
}

export async function startHolder(order: ChildOrder): Promise<Holder> {
  const child = startChild<ChildLine>('test/fault/holder/child.ts', [JSON.stringify(order)]);
  return { name: order.name, child, held: await child.next(({ is }) => is === 'held', START_LIMIT_MS) };
}
