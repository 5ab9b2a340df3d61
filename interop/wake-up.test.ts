/** A release wakes a waiter of the other library: by a message, not by the end of a lease. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { untilListening } from '../packages/holdfast/test/support/locks/held.ts';
import { LOCK } from '../packages/holdfast/test/support/locks/kind.ts';
import { useChildren } from '../packages/holdfast/test/support/processes/child.ts';
import { handled } from '../packages/holdfast/test/support/rejection.ts';
import { useRedis } from '../packages/holdfast/test/support/servers/redis-server.ts';
import { steady } from '../packages/holdfast/test/support/steady.ts';
import { elapse } from '../packages/holdfast/test/support/wait-for.ts';
import type { GuardKind } from './messages.ts';
import { median } from './support/contest.ts';
import { upTo } from './support/extent.ts';
import { endAll, type Participant, startHoldfast, startRedisson } from './support/participant.ts';
import { hasRedisson } from './support/programs.ts';

const ROUNDS = upTo(8, 20);
const WAKE_MS_MAX = 100;
/** For a waiter to make the attempt that follows its subscription, and to fall asleep. */
const ASLEEP_AFTER_MS = 50;

const redis = useRedis();
useChildren();
const keepsTime = steady();

describe.runIf(hasRedisson)('a release', () => {
  let java: Participant;
  let node: Participant;
  beforeAll(async () => {
    java = await startRedisson(redis.port, 'java');
    node = await startHoldfast(redis.port, 'node');
    await Promise.all([java.warmUp('lock'), node.warmUp('lock')]);
  });
  afterAll(() => endAll([java, node]));

  let names = 0;

  /** How long after the beginning of a release the waiter has the lock. */
  async function wakeMs(kind: GuardKind, owner: Participant, waiter: Participant): Promise<number> {
    // A name for each round: nobody listens there yet, so whoever listens is this round's waiter.
    names += 1;
    const guard = { kind, name: `wake-${names}` };
    await owner.request('take', guard);
    const waiting = handled(waiter.request('take', guard));
    await untilListening(redis.port, LOCK, guard.name);
    await elapse(ASLEEP_AFTER_MS);
    const { fromMs } = await owner.request('free', guard);
    const { atMs } = await waiting;
    await waiter.request('free', guard);
    return atMs - fromMs;
  }

  const cases = [
    ['ours', 'an RLock', 'lock', () => [node, java] as const],
    ['ours', 'an RFencedLock', 'fenced', () => [node, java] as const],
    ['an RLock', 'ours', 'lock', () => [java, node] as const],
    ['an RFencedLock', 'ours', 'fenced', () => [java, node] as const],
  ] as const;
  test.each(cases)(`%s wakes %s within ${WAKE_MS_MAX} ms`, keepsTime, async (from, to, kind, pair) => {
    const [owner, waiter] = pair();
    // The first meeting of two processes opens connections and loads classes.
    await wakeMs(kind, owner, waiter);
    const wakes: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) wakes.push(await wakeMs(kind, owner, waiter));
    const worst = Math.max(...wakes);
    console.info(`${from} wakes ${to}: median ${median(wakes)} ms, at most ${worst} ms of ${ROUNDS}`);
    expect(median(wakes)).toBeLessThan(WAKE_MS_MAX);
    expect(worst).toBeLessThan(WAKE_MS_MAX);
  });
});
