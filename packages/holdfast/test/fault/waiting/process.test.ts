/** Waiters in several real processes: one dies at the worst moment, one never stops asking. */

import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { expectGrowing, fenceOf } from '../../support/locks/fences.ts';
import { held, untilWaiting } from '../../support/locks/held.ts';
import { KINDS, type Kind, LOCK, MUTEX } from '../../support/locks/kind.ts';
import { wokenBy } from '../../support/locks/woken.ts';
import { type Child, startChild, useChildren } from '../../support/processes/child.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { steady } from '../../support/steady.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { ChildPlan, ChildWord } from './child.ts';

const redis = useRedis();
// The ticket of a process that was killed stays in the line until its time is over.
useLeakCheck(redis, { checksHandles: false, ignoreKeys: [/redisson_lock_token:/, /holdfast_line:/] });
useChildren();
const bench = useBench();
const STEADY = steady();

const LEASE_MS = 60_000;
/** Of one that dies when it has the lock. */
const VICTIM_MS = 5_000;
/** A process takes its time to start on a busy machine. */
const START_LIMIT_MS = 120_000;
const TEST_LIMIT_MS = 400_000;
vi.setConfig({ testTimeout: TEST_LIMIT_MS });

function start(
  kind: Kind,
  name: string,
  plan: Partial<ChildPlan> & Pick<ChildPlan, 'mode'>,
): Child<ChildWord> {
  const whole: ChildPlan = {
    port: redis.port,
    kind: kind.name,
    name,
    leaseMs: LEASE_MS,
    handovers: 64,
    claimMs: 1_000,
    ...plan,
  };
  return startChild<ChildWord>('test/fault/waiting/child.ts', [JSON.stringify(whole)]);
}

const says = (event: ChildWord['event']) => (word: ChildWord) => word.event === event;

describe.each(KINDS)('two processes wait, $name', (kind) => {
  test('when one is killed as it is woken, the other gets the lock', async () => {
    const owner = await bench.session(redis.port, { leaseMs: LEASE_MS });
    const name = bench.name();
    const lease = await kind.of(owner, name).acquire();
    const victim = start(kind, name, { mode: 'dies-woken' });
    await untilWaiting(redis.port, name, 1, START_LIMIT_MS);
    const survivor = start(kind, name, { mode: 'waiter' });
    await untilWaiting(redis.port, name, 2, START_LIMIT_MS);
    victim.send('die');
    await victim.next(says('armed'), START_LIMIT_MS);
    expect(await lease.release()).toBe(true);
    const word = await survivor.next(says('acquired'), START_LIMIT_MS);
    expect(await victim.exited).toEqual({ code: null, signal: 'SIGKILL' });
    expect(victim.lines.map(({ event }) => event)).toEqual(['ready', 'armed']);
    if (kind === LOCK) expectGrowing([fenceOf(lease), word.fence ?? Number.NaN]);
    survivor.send('release');
    expect((await survivor.exited).code).toBe(0);
  });

  test('when one is killed as it gets the lock, the other gets it when that one’s time has run out, not before', async () => {
    const owner = await bench.session(redis.port, { leaseMs: LEASE_MS });
    const name = bench.name();
    const lease = await kind.of(owner, name).acquire();
    // Long enough to be looked at before it is over.
    const victim = start(kind, name, { mode: 'dies-granted', claimMs: VICTIM_MS, leaseMs: VICTIM_MS });
    await untilWaiting(redis.port, name, 1, START_LIMIT_MS);
    const survivor = start(kind, name, { mode: 'waiter' });
    await untilWaiting(redis.port, name, 2, START_LIMIT_MS);
    survivor.stop();
    expect(await lease.release()).toBe(true);
    await victim.exited;
    const sinceMs = performance.now();
    const left = await held(redis.port, kind, name);
    const first = await victim.next(says('acquired'), START_LIMIT_MS);
    survivor.cont();
    const word = await survivor.next(says('acquired'), START_LIMIT_MS);
    expect(left).not.toBeNull();
    // Its claim; or its lease, where its own ask was under way at the release.
    expect(left?.ttlMs).toBeLessThanOrEqual(VICTIM_MS);
    expect(performance.now() - sinceMs).toBeGreaterThanOrEqual((left?.ttlMs ?? 0) - 5);
    if (kind === LOCK) expectGrowing([first.fence ?? Number.NaN, word.fence ?? Number.NaN]);
    survivor.send('release');
    expect((await survivor.exited).code).toBe(0);
  });
});

describe('a process that never stops taking the lock', () => {
  test.each([
    { kind: LOCK, mode: 'greedy', handovers: 64 },
    { kind: MUTEX, mode: 'greedy', handovers: 64 },
    { kind: LOCK, mode: 'greedy', handovers: 0 },
    { kind: LOCK, mode: 'tight', handovers: 64 },
    { kind: MUTEX, mode: 'tight', handovers: 64 },
  ] as const)(
    'lets another process in again and again: $kind.name, $mode, $handovers handovers',
    STEADY,
    async (plan) => {
      const { kind, mode, handovers } = plan;
      const name = bench.name();
      const locks = await bench.session(redis.port, { leaseMs: LEASE_MS });
      const greedy = start(kind, name, { mode, handovers });
      onTestFinished(() => void greedy.kill());
      await greedy.next(says('ready'), START_LIMIT_MS);
      let counted = 0;
      for (let round = 0; round < 10; round += 1) {
        // It must be at it: a loop of ours alone would be the greedy one.
        await waitFor(
          async () => {
            greedy.send('count');
            const { rounds } = await greedy.next(says('counted'), START_LIMIT_MS);
            const hasMoved = rounds > counted;
            counted = rounds;
            return hasMoved;
          },
          { what: 'the greedy process to take the lock' },
        );
        const acquiring = kind.of(locks, name).acquire({ waitMs: 60_000 });
        // By messages and turns, not by the timers that come after five seconds.
        const lease = await wokenBy(name, async () => {}, acquiring);
        expect(await lease.release()).toBe(true);
      }
      greedy.send('stop');
      const { rounds } = await greedy.next(says('stopped'), START_LIMIT_MS);
      expect(rounds).toBeGreaterThanOrEqual(10);
      expect((await greedy.exited).code).toBe(0);
    },
  );
});
