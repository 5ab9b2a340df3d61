/** One key that a player takes, keeps, and gives back when told: the two ends of a wake-up. */
import type { Release } from '../contestant.ts';
import type { Job } from './job.ts';

const held = new Map<string, Release>();

/** Monotonic and, unlike `performance.now()`, with one origin for all processes of the machine. */
function sharedClockMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

export const seize: Job<'seize'> = async (contestant, { key }) => {
  const release = await contestant.take(key);
  const atMs = sharedClockMs();
  held.set(key, release);
  return { atMs };
};

export const yieldKey: Job<'yield'> = async (_contestant, { key }) => {
  const release = held.get(key);
  if (release === undefined) throw new Error(`expected to hold ${key}, hold ${[...held.keys()].join(', ')}`);
  held.delete(key);
  const atMs = sharedClockMs();
  await release();
  return { atMs };
};
