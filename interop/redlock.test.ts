/**
 * `redlock` 5 as its README sets it up polls a few times a second, and nothing tells us that it does. Beside a mutex that
 * processes of ours keep busy without a break it gets in all the same, and sooner once it has been seen.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useChildren } from '../packages/holdfast/test/support/processes/child.ts';
import { useRedis } from '../packages/holdfast/test/support/servers/redis-server.ts';
import { BusyMutex } from './support/busy-mutex.ts';
import { median } from './support/contest.ts';
import { upTo } from './support/extent.ts';
import { journalIn } from './support/journal.ts';
import { endAll, type Participant, startHoldfasts, startRedlock } from './support/participant.ts';

const NODE_PROCESSES = 4;

const TRIES = upTo(4, 20);
const FIRST_ENTRY_MS_MAX = 15_000;
/** A try is given up after this time: the median is beyond its limit either way. */
const TRY_MS_MAX = 2 * FIRST_ENTRY_MS_MAX;

const TURNS = upTo(6, 20);
/** 17 of 20. */
const TURNS_IN_TIME_MIN = Math.floor(0.85 * TURNS);
const TURN_MS_MAX = 5_000;
const TURN_GIVEN_UP_MS = 2 * TURN_MS_MAX;

const redis = useRedis();
useChildren();
let own: readonly Participant[] = [];
let redlock: Participant;
beforeAll(async () => {
  own = await startHoldfasts(redis.port, NODE_PROCESSES);
  redlock = await startRedlock(redis.port, 'redlock');
});
afterAll(() => endAll([...own, redlock]));

async function startBusyMutex(name: string): Promise<BusyMutex> {
  const mutex = new BusyMutex(own, name, journalIn(redis.dir, name));
  await mutex.untilInFullSwing();
  return mutex;
}

/** How long redlock took to get in, calling again after each failure; infinite when it did not within the limit. */
async function entryMs({ name }: BusyMutex, waitMs: number): Promise<number> {
  const guard = { kind: 'mutex', name } as const;
  // An `acquire` of redlock that has begun goes on for some seconds.
  const { taken, fromMs, atMs } = await redlock.request('take', { ...guard, waitMs }, waitMs + 60_000);
  if (taken) await redlock.request('free', guard);
  return taken ? atMs - fromMs : Number.POSITIVE_INFINITY;
}

const seconds = (times: readonly number[]): string => times.map((ms) => (ms / 1_000).toFixed(1)).join(' ');

test(`redlock enters a busy mutex for the first time within ${FIRST_ENTRY_MS_MAX / 1_000} s, by the median`, async () => {
  const entries: number[] = [];
  // Over as soon as the median is decided.
  while (entries.length < TRIES && entries.filter((ms) => ms >= FIRST_ENTRY_MS_MAX).length <= TRIES / 2) {
    // A name for each try: nobody has ever seen a foreign owner of it.
    const mutex = await startBusyMutex(`first-${entries.length}`);
    entries.push(await entryMs(mutex, TRY_MS_MAX));
    await mutex.stop();
  }
  console.info(`first entries of redlock after ${seconds(entries)} s, of ${TRIES} tries`);
  expect(median(entries)).toBeLessThan(FIRST_ENTRY_MS_MAX);
});

test(`redlock then has ${TURNS_IN_TIME_MIN} of ${TURNS} turns within ${TURN_MS_MAX / 1_000} s each`, async () => {
  const mutex = await startBusyMutex('again');
  const first = await entryMs(mutex, 4 * TRY_MS_MAX);
  const entries: number[] = [];
  const late = (): number => entries.filter((ms) => ms >= TURN_MS_MAX).length;
  // Over as soon as too many were late.
  while (entries.length < TURNS && late() <= TURNS - TURNS_IN_TIME_MIN) {
    // Right after its own turn redlock would find the mutex free: nobody has been told.
    await mutex.untilInFullSwing();
    entries.push(await entryMs(mutex, TURN_GIVEN_UP_MS));
  }
  const turns = await mutex.stop();
  console.info(
    `after a first of ${seconds([first])} s: ${seconds(entries)} s; ours had ${turns.length} turns`,
  );
  expect(late(), `late turns of the first ${entries.length}`).toBeLessThanOrEqual(TURNS - TURNS_IN_TIME_MIN);
});
