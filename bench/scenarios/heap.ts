/** Heap of ten thousand held leases, and of ten thousand waiters on one key. A process of its own for each cell. */
import { eager } from '../field.ts';
import { inRounds } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import { tableOf } from '../table.ts';
import { Team } from '../team.ts';

/** Thousands of pollers take seconds to start; a quick run makes do with fewer, at the price of more noise. */
const COUNT = 10_000;
const COUNT_QUICK = 2_000;
const LIMIT_MS = 30_000;

export const heap: Scenario = {
  name: 'heap',
  async play(context) {
    const { port, isQuick, progress } = context;
    const count = isQuick ? COUNT_QUICK : COUNT;
    const outcomes = await inRounds(
      eager(context),
      { title: `heap of ${count}`, rounds: isQuick ? 2 : 5, progress },
      async (entrant, round) => {
        await using team = new Team(1, port);
        const prefix = `heap:${entrant.id}:${round}`;
        // Awaited here: the team goes as soon as this function returns.
        return await team.with(entrant, async () => {
          const [result] = await team.all('heap', { prefix, leases: count, waiters: count }, LIMIT_MS);
          if (result === undefined) throw new Error('expected an answer of the only process');
          // Giving all of it back would take longer than starting anew.
          await team.kill();
          return { ...result };
        });
      },
    );
    const table = tableOf(
      {
        id: 'heap',
        title: `Heap for each of ${count.toLocaleString('en')} leases and waiters`,
        about:
          'Growth of the heap between two full collections, divided by their number: leases on distinct keys, then waiters on one held key. Peers with their eager settings, so that nobody has given up by then.',
        columns: [
          { key: 'bytesPerLease', title: 'bytes a lease', digits: 0, hasSpread: true },
          { key: 'bytesPerWaiter', title: 'bytes a waiter', digits: 0, hasSpread: true },
        ],
        chart: 'bytesPerWaiter',
      },
      outcomes,
    );
    return [table];
  },
};
