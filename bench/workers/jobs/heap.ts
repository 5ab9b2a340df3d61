/** Heap of held leases and of waiters, each as the growth between two full garbage collections. */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { inChunks } from './in-chunks.ts';
import type { Job } from './job.ts';

const ACQUIRED_AT_ONCE = 250;
/** Long enough for the reply to the last waiter's first attempt, and for what that attempt allocated to be garbage. */
const SETTLE_MS = 300;

async function heapBytes(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error('expected a process started with --expose-gc');
  for (let i = 0; i < 3; i += 1) {
    await nextTurn();
    globalThis.gc();
  }
  return process.memoryUsage().heapUsed;
}

export const heap: Job<'heap'> = async (opened, { prefix, leases, waiters }) => {
  const { acquireUnwrapped } = opened;
  if (acquireUnwrapped === undefined) throw new Error('expected a library, got a yardstick');
  // One acquisition first: what a library allocates once is no part of the cost of each lease.
  const release = await opened.take(`${prefix}:first`);
  await release();

  const held: unknown[] = new Array(leases);
  const withoutLeases = await heapBytes();
  await inChunks(leases, ACQUIRED_AT_ONCE, async (i) => {
    held[i] = await acquireUnwrapped(`${prefix}:${i}`);
  });
  await sleep(SETTLE_MS);
  const withLeases = await heapBytes();

  const waiting: unknown[] = new Array(waiters);
  const withoutWaiters = await heapBytes();
  const key = `${prefix}:0`;
  // All at once: waiters that poll would slow down those that start after them.
  for (let i = 0; i < waiters; i += 1) waiting[i] = acquireUnwrapped(key);
  await sleep(SETTLE_MS);
  const withWaiters = await heapBytes();
  return {
    bytesPerLease: (withLeases - withoutLeases) / held.length,
    bytesPerWaiter: (withWaiters - withoutWaiters) / waiting.length,
  };
};
