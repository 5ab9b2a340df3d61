/** A thousand leases of one second, kept alive: calls to Redis, processor time of the client, and losses. */
import { Redis } from 'ioredis';
import { commandsSent } from '../commands.ts';
import type { Entrant } from '../contestant.ts';
import { eager } from '../field.ts';
import { inRounds, type Measures } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import { tableOf } from '../table.ts';
import { Team } from '../team.ts';

const LEASES = 1_000;
const LEASE_MS = 1_000;
const SLACK_MS = 10_000;

/** Leases that the server knows: some key, which is not only a fence counter, carries their number. */
async function leasesAlive(admin: Redis, prefix: string): Promise<number> {
  const alive = new Set<string>();
  const pattern = new RegExp(`${prefix}:(\\d+):`);
  for (const key of await admin.keys(`*${prefix}:*`)) {
    const number = key.startsWith('redisson_lock_token:') ? undefined : pattern.exec(key)?.[1];
    if (number !== undefined) alive.add(number);
  }
  return alive.size;
}

async function playRenewal(
  team: Team,
  admin: Redis,
  entrant: Entrant,
  { prefix, windowMs }: { readonly prefix: string; readonly windowMs: number },
): Promise<Measures> {
  return team.with(entrant, async () => {
    await team.all('hold', { prefix, leases: LEASES, leaseMs: LEASE_MS }, SLACK_MS);
    await admin.config('RESETSTAT');
    const [watched] = await team.all('watch', { windowMs }, windowMs + SLACK_MS);
    if (watched === undefined) throw new Error('expected an answer of the only process');
    const seconds = watched.windowMs / 1000;
    const calls = await commandsSent(admin, entrant);
    const alive = await leasesAlive(admin, prefix);
    return {
      callsPerSecond: calls / seconds,
      cpuMsPerSecond: watched.cpuMs / seconds,
      // The library may not have noticed, and the server may not have forgotten yet.
      lost: Math.max(watched.lost, LEASES - alive),
    };
  });
}

export const renewal: Scenario = {
  name: 'renewal',
  async play(context) {
    const { port, isQuick, progress } = context;
    const admin = new Redis(port, '127.0.0.1');
    await using team = new Team(1, port);
    const windowMs = isQuick ? 700 : 10_000;
    const outcomes = await inRounds(
      eager(context).filter(({ canKeep }) => canKeep),
      { title: `${LEASES} renewed leases`, rounds: isQuick ? 3 : 5, progress },
      (entrant, round) =>
        playRenewal(team, admin, entrant, { prefix: `kept:${entrant.id}:${round}`, windowMs }),
    );
    admin.disconnect();
    const table = tableOf(
      {
        id: 'renewal',
        title: `${LEASES.toLocaleString('en')} renewed leases of ${LEASE_MS / 1000} s`,
        about: `One process holds them for ${windowMs / 1000} s and does nothing else. Calls to Redis and processor time of that process, both for each second; a lease is lost when the library says so or the server has forgotten it. redlock 4 and simple-redis-mutex renew on request only and do not play.`,
        columns: [
          { key: 'callsPerSecond', title: 'calls a second', digits: 0, hasSpread: true },
          { key: 'cpuMsPerSecond', title: 'CPU ms a second', digits: 0 },
          { key: 'lost', title: 'lost', digits: 0, isTotal: true },
        ],
        chart: 'callsPerSecond',
      },
      outcomes,
    );
    return [table];
  },
};
