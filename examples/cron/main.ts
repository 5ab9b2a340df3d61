/**
 * A job that runs on one replica. Every replica runs this program. Each time the job is due, one replica does it.
 *
 *     npx tsx examples/cron/main.ts
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Locks } from 'holdfast';
import { Redis } from 'ioredis';

const EVERY_MS = 1_000;

const redis = new Redis();
const locks = new Locks(redis);
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

/** The job. It stops when the lock is lost, because another replica may run the job by then. */
async function report(run: number, signal: AbortSignal): Promise<void> {
  await sleep(100, undefined, { signal });
  console.log(`run ${run}: done by process ${process.pid}`);
}

/**
 * Does one run on one replica. The lock keeps two replicas from doing the run at the same time. The marker in Redis
 * keeps a replica whose clock is a little behind from doing the run again afterwards.
 */
async function runOnce(run: number): Promise<void> {
  const lease = await locks.lock('cron:report').tryAcquire();
  if (lease === null) return;
  try {
    const isNew = await redis.set(`cron:report:${run}`, process.pid, 'PX', 10 * EVERY_MS, 'NX');
    if (isNew !== null) await report(run, lease.signal);
  } finally {
    await lease.release();
  }
}

while (!stop.signal.aborted) {
  const run = Math.floor(Date.now() / EVERY_MS) + 1;
  const dueInMs = run * EVERY_MS - Date.now();
  await sleep(dueInMs, undefined, { signal: stop.signal }).catch(() => {});
  if (stop.signal.aborted) break;
  // A failed run is logged and does not end the program: the next run may succeed.
  await runOnce(run).catch((error: unknown) => console.error(`run ${run}:`, error));
}

await locks.close();
redis.disconnect();
