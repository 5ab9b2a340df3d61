/** Heap of held leases and of waiters, each as the growth between two full collections. */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Job } from './job.ts';

const TAKEN_AT_ONCE = 250;
/** Long enough for the last waiter's first attempt to have been answered and its garbage to be garbage. */
const SETTLE_MS = 300;

async function heapBytes(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error('expected a process started with --expose-gc');
  for (let i = 0; i < 3; i += 1) {
    await nextTurn();
    globalThis.gc();
  }
  return process.memoryUsage().heapUsed;
}

export const heap: Job<'heap'> = async (contestant, { prefix, leases, waiters }) => {
  const { bare } = contestant;
  if (bare === undefined) throw new Error('expected a library, got a yardstick');
  // One of each first: what a library makes once is not part of what each costs.
  const first = await contestant.take(`${prefix}:first`);
  await first();

  const held: unknown[] = new Array(leases);
  const withoutLeases = await heapBytes();
  for (let from = 0; from < leases; from += TAKEN_AT_ONCE) {
    const numbers = Array.from({ length: Math.min(TAKEN_AT_ONCE, leases - from) }, (_, i) => from + i);
    await Promise.all(
      numbers.map(async (i) => {
        held[i] = await bare(`${prefix}:${i}`);
      }),
    );
  }
  await sleep(SETTLE_MS);
  const withLeases = await heapBytes();

  const waiting: unknown[] = new Array(waiters);
  const withoutWaiters = await heapBytes();
  const key = `${prefix}:0`;
  // In one go: those who poll would get in the way of those who come after them.
  for (let i = 0; i < waiters; i += 1) waiting[i] = bare(key);
  await sleep(SETTLE_MS);
  const withWaiters = await heapBytes();
  return {
    bytesPerLease: (withLeases - withoutLeases) / held.length,
    bytesPerWaiter: (withWaiters - withoutWaiters) / waiting.length,
  };
};
