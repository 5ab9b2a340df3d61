/** By quorum there is no line of waiters. A process far away from the servers gets its turns beside a near one all the same. */
import { expect, test, vi } from 'vitest';
import { useLeakCheck } from '../../support/leak-check.ts';
import { LOCK } from '../../support/locks/kind.ts';
import { startChild, useChildren } from '../../support/processes/child.ts';
import { elapse, waitFor } from '../../support/wait-for.ts';
import type { ChildPlan, ChildWord } from '../line/child.ts';
import { useQuorumBench, useServers } from './support.ts';

const servers = useServers(3);
useLeakCheck(servers, { checksHandles: false });
useChildren();
const quorum = useQuorumBench(servers);

/** Each way. */
const FAR_MS = 10;
/** A question of the far process that follows a release arrives in the middle of the next section, and not by luck at its end. */
const SECTION_MS = 100;
const TURNS = 4;
/**
 * The near process has about five turns for each of the far one: its pause grows from 2 ms until the far one comes first.
 * If the pause does not grow, the near one has more than a hundred.
 */
const NEAR_TURNS_MAX = 25 * TURNS;
const LIMIT_MS = 120_000;
vi.setConfig({ testTimeout: 400_000 });

test('beside a near process that is never done, a far one gets its turns by quorum', async () => {
  const name = quorum.name();
  const proxies = await quorum.proxies();
  const plan: ChildPlan = { ports: proxies.map(({ port }) => port), name, busyMs: 0 };
  const far = startChild<ChildWord>('test/fault/line/child.ts', [JSON.stringify(plan)]);
  const turnsOfFar = async (): Promise<number> => {
    far.send('count');
    return (await far.next(({ event }) => event === 'turns', LIMIT_MS)).turns;
  };
  await waitFor(async () => (await turnsOfFar()) > 0, {
    limitMs: LIMIT_MS,
    what: 'a first turn of the far process',
  });
  for (const proxy of proxies) proxy.delay(FAR_MS);

  const near = await quorum.assembled(LOCK);
  let nearTurns = 0;
  let isOver = false;
  const takeTurns = async (): Promise<void> => {
    while (!isOver) {
      await using _lease = await near.lock(name).acquire();
      nearTurns += 1;
      await elapse(SECTION_MS);
    }
  };
  const taking = takeTurns();
  // Only now are they beside each other.
  await waitFor(() => nearTurns > 0, { limitMs: LIMIT_MS, what: 'a first turn of the near process' });
  const wanted = (await turnsOfFar()) + TURNS;
  await waitFor(async () => (await turnsOfFar()) >= wanted || nearTurns > NEAR_TURNS_MAX, {
    limitMs: LIMIT_MS,
    what: `${TURNS} turns of the far process`,
  });
  const missing = wanted - (await turnsOfFar());

  isOver = true;
  await taking;
  far.send('stop');
  expect((await far.exited).code).toBe(0);
  expect(missing).toBeLessThanOrEqual(0);
});
