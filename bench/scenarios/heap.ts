/** Heap of ten thousand held leases, and of ten thousand waiters on one key. Each measurement has a process of its own. */

import { tableOf } from '../output/table.ts';
import { eager } from '../participants/selection.ts';
import { inRounds } from '../run/rounds.ts';
import { WorkerPool } from '../workers/worker-pool.ts';
import { extentOf, type Scenario } from './scenario.ts';

const LIMIT_MS = 30_000;

export const heap: Scenario = {
  name: 'heap',
  async measure(context) {
    const { port, progress } = context;
    // Thousands of pollers take seconds to start: a quick run uses fewer and has more noise.
    const { rounds, count } = extentOf(context, { rounds: 2, count: 2_000 }, { rounds: 5, count: 10_000 });
    const outcomes = await inRounds(
      eager(context),
      { title: `heap of ${count}`, rounds, progress },
      async (participant, round) => {
        await using pool = new WorkerPool(1, port);
        const prefix = `heap:${participant.id}:${round}`;
        // Awaited here, because `await using` ends the pool as soon as this function returns.
        return await pool.with(participant, async () => {
          const [result] = await pool.all('heap', { prefix, leases: count, waiters: count }, LIMIT_MS);
          if (result === undefined) throw new Error('expected a result of the only process');
          // Releasing every lease would take longer than starting a new process.
          await pool.kill();
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
        compared: [
          { key: 'bytesPerLease', title: 'bytes a lease', better: 'less' },
          { key: 'bytesPerWaiter', title: 'bytes a waiter', better: 'less' },
        ],
      },
      outcomes,
    );
    return [table];
  },
};
