/**
 * A job that runs once for each slot, on one of all replicas. Every replica runs this program.
 *
 *     npx tsx examples/cron/main.ts
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Locks } from 'holdfast';
import { Redis } from 'ioredis';

const redis = new Redis();
const locks = new Locks(redis, { application: 'report' });

const schedule = locks.schedule('report', { everyMs: 1_000 }, async ({ slot, signal }) => {
  // The work. It stops when the lock is lost, because another replica may run the next slot by then.
  await sleep(100, undefined, { signal });
  console.log(`run ${slot.getTime()}: done by process ${process.pid}`);
});

// A failed run does not end the program: the next may succeed. With `attempts` the same slot would be tried again.
schedule.on('failed', ({ run, error }) => console.error(`run ${run?.slot.getTime()}:`, error));

/** The run that is at work has a few seconds to finish, then its signal aborts. */
async function shutDown(): Promise<void> {
  await locks.close({ graceMs: 5_000 });
  redis.disconnect();
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void shutDown());
