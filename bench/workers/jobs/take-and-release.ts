/** Acquires one key and releases it on request, with the time of each: the two ends of a wake-up. */
import type { Release } from '../../participants/participant.ts';
import type { Job } from './job.ts';

const held = new Map<string, Release>();

/** Monotonic, and unlike `performance.now()` with one origin for all processes of the machine. */
function sharedClockMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

export const take: Job<'take'> = async (opened, { key }) => {
  const release = await opened.take(key);
  const atMs = sharedClockMs();
  held.set(key, release);
  return { atMs };
};

export const releaseTaken: Job<'release'> = async (_opened, { key }) => {
  const release = held.get(key);
  if (release === undefined) throw new Error(`expected to hold ${key}, hold ${[...held.keys()].join(', ')}`);
  held.delete(key);
  const atMs = sharedClockMs();
  await release();
  return { atMs };
};
