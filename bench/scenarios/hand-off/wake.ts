/** How soon a waiter in another process holds the key after its owner releases it, beside a bare BLPOP. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Histogram } from '../../measure/histogram.ts';
import type { Measures } from '../../measure/outcome.ts';
import { multipleOf, withRatio } from '../../measure/ratio.ts';
import { median } from '../../measure/statistics.ts';
import { tableOf } from '../../output/table.ts';
import { contended, ofOtherKinds } from '../../participants/selection.ts';
import { inRounds } from '../../run/rounds.ts';
import { Servers } from '../../run/servers/servers.ts';
import { WorkerPool } from '../../workers/worker-pool.ts';
import { extentOf, type Scenario } from '../scenario.ts';

const YARDSTICK = 'token-passing';
/** Time for a waiter to try, subscribe, try again and sleep. */
const SETTLE_MS = 25;
const LIMIT_MS = 15_000;

/** Two processes hand the key to and fro. Each release happens only when the other process sleeps in its wait. */
async function measureWakes(pool: WorkerPool, key: string, wakes: number): Promise<Measures> {
  const latencies = new Histogram();
  const exact: number[] = [];
  await pool.one(0, 'take', { key }, LIMIT_MS);
  for (let i = 0; i < wakes; i += 1) {
    const owner = i % 2;
    const woken = pool.one(1 - owner, 'take', { key }, LIMIT_MS);
    await sleep(SETTLE_MS);
    const released = await pool.one(owner, 'release', { key }, LIMIT_MS);
    const { atMs } = await woken;
    latencies.add(atMs - released.atMs);
    exact.push(atMs - released.atMs);
  }
  await pool.one(wakes % 2, 'release', { key }, LIMIT_MS);
  return { p50Ms: median(exact), p99Ms: latencies.quantileMs(0.99), maxMs: latencies.maxMs };
}

export const wake: Scenario = {
  name: 'wake',
  async measure(context) {
    const { port, serverPid, progress } = context;
    // Redisson would be measured with the pipe to its program.
    const others = ofOtherKinds(context).filter(({ server = 'redis' }) => server !== 'redis');
    const wanted = [...contended(context, YARDSTICK), ...others];
    await using servers = await Servers.startFor(wanted, { port, pid: serverPid });
    await using pool = new WorkerPool(2, (participant) => servers.of(participant).port);
    const { rounds, wakes } = extentOf(context, { rounds: 3, wakes: 11 }, { rounds: 5, wakes: 101 });
    const measured = await inRounds(
      servers.available(wanted),
      { title: 'wake-up in another process', rounds, progress },
      (participant, round) => {
        const key = `wake:${participant.id}:${round}`;
        return pool.with(participant, () => measureWakes(pool, key, wakes));
      },
    );
    let outcomes = withRatio(measured, 'slowness', () => YARDSTICK, multipleOf('p50Ms'));
    outcomes = withRatio(outcomes, 'slowness99', () => YARDSTICK, multipleOf('p99Ms'));
    const table = tableOf(
      {
        id: 'wake',
        title: 'Wake-up of a waiter in another process',
        about:
          'From just before the owner gives the key back to the moment the waiter in another process holds it; the waiter is asleep before. As a multiple of a bare RPUSH that wakes a BLPOP: less is better. A library that polls wakes up by chance.',
        columns: [
          { key: 'slowness', title: 'p50, bare wake = 1', digits: 2, hasSpread: true },
          { key: 'slowness99', title: 'p99, bare wake = 1', digits: 2 },
          { key: 'p50Ms', title: 'p50 ms', digits: 2 },
          { key: 'p99Ms', title: 'p99 ms', digits: 2 },
          { key: 'maxMs', title: 'longest ms', digits: 1 },
        ],
        chart: 'slowness',
        compared: [{ key: 'p50Ms', title: 'p50 of a wake-up', better: 'less' }],
      },
      outcomes,
    );
    return [table];
  },
};
