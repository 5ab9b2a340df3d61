/** A thousand renewed leases of one second: calls to Redis, processor time of the client, and losses. */
import { Redis } from 'ioredis';
import { commandsSent } from '../measure/commands-sent.ts';
import type { Measures } from '../measure/outcome.ts';
import { tableOf } from '../output/table.ts';
import type { Participant } from '../participants/participant.ts';
import { eager } from '../participants/selection.ts';
import { inRounds } from '../run/rounds.ts';
import { WorkerPool } from '../workers/worker-pool.ts';
import { extentOf, type Scenario } from './scenario.ts';

const LEASES = 1_000;
const LEASE_MS = 1_000;
const SLACK_MS = 10_000;

/** Leases on the server, by the numbers in the keys. A fence counter outlives its lease and does not count. */
async function leasesAlive(admin: Redis, prefix: string): Promise<number> {
  const alive = new Set<string>();
  const pattern = new RegExp(`${prefix}:(\\d+):`);
  for (const key of await admin.keys(`*${prefix}:*`)) {
    const number = key.startsWith('redisson_lock_token:') ? undefined : pattern.exec(key)?.[1];
    if (number !== undefined) alive.add(number);
  }
  return alive.size;
}

async function measureRenewal(
  pool: WorkerPool,
  admin: Redis,
  participant: Participant,
  { prefix, windowMs }: { readonly prefix: string; readonly windowMs: number },
): Promise<Measures> {
  return pool.with(participant, async () => {
    await pool.all('hold', { prefix, leases: LEASES, leaseMs: LEASE_MS }, SLACK_MS);
    await admin.config('RESETSTAT');
    const [watched] = await pool.all('watch', { windowMs }, windowMs + SLACK_MS);
    if (watched === undefined) throw new Error('expected a result of the only process');
    const seconds = watched.windowMs / 1000;
    const calls = await commandsSent(admin, participant);
    const alive = await leasesAlive(admin, prefix);
    return {
      callsPerSecond: calls / seconds,
      cpuMsPerSecond: watched.cpuMs / seconds,
      // The larger of the two counts: the library may not have noticed, or the key may not have expired yet.
      lost: Math.max(watched.lost, LEASES - alive),
    };
  });
}

export const renewal: Scenario = {
  name: 'renewal',
  async measure(context) {
    const { port, progress } = context;
    const admin = new Redis(port, '127.0.0.1');
    await using pool = new WorkerPool(1, port);
    const { rounds, windowMs } = extentOf(
      context,
      { rounds: 3, windowMs: 700 },
      { rounds: 5, windowMs: 10_000 },
    );
    const outcomes = await inRounds(
      eager(context).filter(({ canRenew }) => canRenew),
      { title: `${LEASES} renewed leases`, rounds, progress },
      (participant, round) =>
        measureRenewal(pool, admin, participant, { prefix: `kept:${participant.id}:${round}`, windowMs }),
    );
    admin.disconnect();
    const table = tableOf(
      {
        id: 'renewal',
        title: `${LEASES.toLocaleString('en')} renewed leases of ${LEASE_MS / 1000} s`,
        about: `One process holds them for ${windowMs / 1000} s and does nothing else. Calls to Redis and processor time of that process, both for each second; a lease is lost when the library says so or the server has forgotten it. redlock 4 and simple-redis-mutex renew on request only and do not take part.`,
        columns: [
          { key: 'callsPerSecond', title: 'calls a second', digits: 0, hasSpread: true },
          { key: 'cpuMsPerSecond', title: 'CPU ms a second', digits: 0 },
          { key: 'lost', title: 'lost', digits: 0, isTotal: true },
        ],
        chart: 'callsPerSecond',
        compared: [
          { key: 'callsPerSecond', title: 'calls a second', better: 'less' },
          { key: 'cpuMsPerSecond', title: 'CPU ms a second', better: 'less' },
        ],
      },
      outcomes,
    );
    return [table];
  },
};
