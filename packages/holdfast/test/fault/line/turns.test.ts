/** Processes that are far away, slow or frozen for a while get their turns beside two that are near and fast. */
import { describe, expect, test, vi } from 'vitest';
import type { Locks } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { untilWaiting, waiting } from '../../support/locks/held.ts';
import { type Child, startChild, useChildren } from '../../support/processes/child.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { steady } from '../../support/steady.ts';
import { elapse, waitFor } from '../../support/wait-for.ts';
import type { ChildPlan, ChildWord } from './child.ts';

const redis = useRedis();
useLeakCheck(redis, { checksHandles: false });
useChildren();
const bench = useBench();
const STEADY = steady();

/** Each way. */
const FAR_MS = 10;
const BUSY_MS = 6;
/** The claim of the process that is frozen. */
const CLAIM_MS = 1_000;
/** Those in line ask again this soon. */
const ASK_MS = 1_000;
const TURNS = 15;
/** For a machine that is busy with something else; a process that is never first gets no turn in any time. */
const LIMIT_MS = 120_000;
vi.setConfig({ testTimeout: 400_000 });

function start(plan: ChildPlan): Child<ChildWord> {
  return startChild<ChildWord>('test/fault/line/child.ts', [JSON.stringify(plan)]);
}

async function turnsOf(child: Child<ChildWord>): Promise<number> {
  child.send('count');
  return (await child.next(({ event }) => event === 'turns', LIMIT_MS)).turns;
}

/** Two near callers that take the lock without end, and how often they had it. */
async function near(name: string) {
  const sessions = await Promise.all([bench.session(redis.port), bench.session(redis.port)]);
  const state = { turns: 0, isOver: false };
  const takeTurns = async (locks: Locks): Promise<void> => {
    while (!state.isOver) {
      await using _lease = await locks.lock(name).acquire();
      state.turns += 1;
      await elapse(1);
    }
  };
  const loops = Promise.all(sessions.map(takeTurns));
  bench.onEnd(async () => {
    state.isOver = true;
    await loops;
  });
  return state;
}

/** That process has so many turns more, and the near ones go on having theirs. */
async function expectTurns(child: Child<ChildWord>, others: { turns: number }, count: number): Promise<void> {
  const wanted = (await turnsOf(child)) + count;
  const othersBefore = others.turns;
  await waitFor(async () => (await turnsOf(child)) >= wanted, { limitMs: LIMIT_MS, what: `${count} turns` });
  expect(others.turns).toBeGreaterThan(othersBefore);
}

async function end(child: Child<ChildWord>): Promise<void> {
  child.send('stop');
  expect((await child.exited).code).toBe(0);
}

describe('beside two near callers', () => {
  test('a process far away from Redis gets its turns', async () => {
    const name = bench.name();
    const proxy = await bench.proxy(redis.port);
    const far = start({ port: proxy.port, name, busyMs: 0 });
    await waitFor(async () => (await turnsOf(far)) > 0, { limitMs: LIMIT_MS });
    proxy.delay(FAR_MS);
    const others = await near(name);
    await expectTurns(far, others, TURNS);
    await end(far);
  });

  test('a process whose event loop is busy for 6 ms at a time gets its turns', async () => {
    const name = bench.name();
    const slow = start({ port: redis.port, name, busyMs: BUSY_MS });
    await waitFor(async () => (await turnsOf(slow)) > 0, { limitMs: LIMIT_MS });
    const others = await near(name);
    await expectTurns(slow, others, TURNS);
    await end(slow);
  });

  test(
    'a process that is frozen when its turn comes holds the others up for one claim, and gets its turns again',
    STEADY,
    async () => {
      const name = bench.name();
      const owner = await bench.session(redis.port);
      const lease = await owner.lock(name).acquire();
      const frozen = start({ port: redis.port, name, busyMs: 0 });
      await untilWaiting(redis.port, name, 1, LIMIT_MS);
      const others = await near(name);
      await untilWaiting(redis.port, name, 3, LIMIT_MS);
      // It is first in line, and cannot use what it is given.
      frozen.stop();
      const releasedMs = performance.now();
      await lease.release();
      await waitFor(() => others.turns > 0, { limitMs: LIMIT_MS, what: 'a turn of the near callers' });
      expect(performance.now() - releasedMs).toBeLessThan(CLAIM_MS + ASK_MS);
      frozen.cont();
      await expectTurns(frozen, others, TURNS);
      await end(frozen);
      expect(await waiting(redis.port, name)).toBeLessThanOrEqual(2);
    },
  );
});
