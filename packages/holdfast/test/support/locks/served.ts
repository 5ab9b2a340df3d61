/** All who wait for one lock are served, whoever is first. */
import { expect } from 'vitest';
import type { Lease } from '../../../src/index.ts';

/** How long the guarantees allow for it after FLUSHALL, a failover or a moved slot. */
export const SERVED_AGAIN_MS = 5_000;

/** Each releases as soon as it has the lock. Returns how many milliseconds that took for all of them. */
export async function allServed(waits: readonly Promise<Lease>[]): Promise<number> {
  const startMs = performance.now();
  await Promise.all(waits.map(async (wait) => expect(await (await wait).release()).toBe(true)));
  return performance.now() - startMs;
}
