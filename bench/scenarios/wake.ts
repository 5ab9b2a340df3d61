/** How soon a waiter in another process holds the key after its owner gives it back, beside a bare BLPOP. */
import { setTimeout as sleep } from 'node:timers/promises';
import { contended } from '../field.ts';
import { Histogram } from '../histogram.ts';
import { multipleOf, withRatio } from '../ratio.ts';
import { inRounds, type Measures } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import { median } from '../statistics.ts';
import { tableOf } from '../table.ts';
import { Team } from '../team.ts';

const YARDSTICK = 'token-passing';
/** By then a waiter has tried, subscribed, tried again and sleeps. */
const SETTLE_MS = 25;
const LIMIT_MS = 15_000;

/** Two processes pass the key to and fro; each time the one that waits is asleep before the other lets go. */
async function playWakes(team: Team, key: string, wakes: number): Promise<Measures> {
  const latencies = new Histogram();
  const exact: number[] = [];
  await team.one(0, 'seize', { key }, LIMIT_MS);
  for (let i = 0; i < wakes; i += 1) {
    const owner = i % 2;
    const woken = team.one(1 - owner, 'seize', { key }, LIMIT_MS);
    await sleep(SETTLE_MS);
    const released = await team.one(owner, 'yield', { key }, LIMIT_MS);
    const { atMs } = await woken;
    latencies.add(atMs - released.atMs);
    exact.push(atMs - released.atMs);
  }
  await team.one(wakes % 2, 'yield', { key }, LIMIT_MS);
  return { p50Ms: median(exact), p90Ms: latencies.quantileMs(0.9), maxMs: latencies.maxMs };
}

export const wake: Scenario = {
  name: 'wake',
  async play(context) {
    const { port, isQuick, progress } = context;
    await using team = new Team(2, port);
    const wakes = isQuick ? 11 : 51;
    const played = await inRounds(
      contended(context, YARDSTICK),
      { title: 'wake-up in another process', rounds: isQuick ? 3 : 5, progress },
      (entrant, round) => {
        const key = `wake:${entrant.id}:${round}`;
        return team.with(entrant, () => playWakes(team, key, wakes));
      },
    );
    const table = tableOf(
      {
        id: 'wake',
        title: 'Wake-up of a waiter in another process',
        about:
          'From just before the owner gives the key back to the moment the waiter in another process holds it; the waiter is asleep before. As a multiple of a bare RPUSH that wakes a BLPOP: less is better. A library that polls wakes up by chance.',
        columns: [
          { key: 'slowness', title: 'p50, bare wake = 1', digits: 2, hasSpread: true },
          { key: 'p50Ms', title: 'p50 ms', digits: 2 },
          { key: 'p90Ms', title: 'p90 ms', digits: 2 },
          { key: 'maxMs', title: 'longest ms', digits: 1 },
        ],
        chart: 'slowness',
      },
      withRatio(played, 'slowness', () => YARDSTICK, multipleOf('p50Ms')),
    );
    return [table];
  },
};
