/** Leases that must be renewed to live, held for a while: what that costs, and whether all live. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kept } from '../contestant.ts';
import type { Job } from './job.ts';

/** Taken so many at a time, so that a library without a queue of its own is not drowned at the start. */
const TAKEN_AT_ONCE = 100;

let kept: Kept[] = [];

export const hold: Job<'hold'> = async (contestant, { prefix, leases, leaseMs }, leave) => {
  const { keep } = contestant;
  if (keep === undefined) throw new Error('expected a library that renews');
  kept = [];
  leave({
    async end() {
      await Promise.all(kept.map((each) => each.release().catch(() => {})));
    },
  });
  for (let from = 0; from < leases; from += TAKEN_AT_ONCE) {
    const numbers = Array.from({ length: Math.min(TAKEN_AT_ONCE, leases - from) }, (_, i) => from + i);
    kept.push(...(await Promise.all(numbers.map((i) => keep(`${prefix}:${i}:`, leaseMs)))));
  }
  await sleep(leaseMs);
  return null;
};

export const watch: Job<'watch'> = async (_contestant, { windowMs }) => {
  const cpuBefore = process.cpuUsage();
  const startedMs = performance.now();
  await sleep(windowMs);
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    windowMs: performance.now() - startedMs,
    cpuMs: (user + system) / 1000,
    lost: kept.filter((each) => each.isLost()).length,
  };
};
