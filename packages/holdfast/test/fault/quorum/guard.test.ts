/**
 * The restart guard: a server that may have forgotten a lease does not vote until that lease is over. Without it a
 * voter that restarts empty lets a second owner in, and the control shows that these tests would notice.
 */
import { describe, expect, test } from 'vitest';
import type { Lease, Locks } from '../../../src/index.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { KINDS, LOCK, MUTEX } from '../../support/locks/kind.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { type RedisServer, startRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { RestartTrial } from './restarts.ts';
import { useQuorumBench, useServers } from './support.ts';

const servers = useServers(5);
useLeakCheck(servers);
const quorum = useQuorumBench(servers);

/** For CI. The whole of it is a thousand, and takes minutes. */
const ROUNDS = Number(process.env['HOLDFAST_GUARD_ROUNDS'] ?? 120);
const SEED = Number(process.env['HOLDFAST_SEED'] ?? 1);
/** Long against a restart on a busy machine. */
const GUARD_MS = 1_500;

/** The second of the clock in which a server has started, as it counts itself. */
async function startSecond({ port }: RedisServer): Promise<number> {
  const info = String(await ask(port, ['INFO', 'server']));
  const read = (field: string): number => Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)?.[1]);
  return Math.floor(read('server_time_usec') / 1_000_000) - read('uptime_in_seconds');
}

async function voters(locks: Locks, name: string): Promise<number[]> {
  await using _lease = await locks.lock(name).acquire();
  return quorum.voters(LOCK, name);
}

describe('a server that has restarted', () => {
  test('does not vote until it has run for as long as the longest lease, and votes then', async () => {
    const locks = await quorum.assembled(LOCK, { leaseMs: GUARD_MS });
    const guarded = await quorum.assembled(LOCK, { leaseMs: GUARD_MS, restartGuardMs: GUARD_MS });
    await quorum.server(2).kill();
    // It starts at some moment after this one.
    const startedMs = performance.now();
    await quorum.server(2).restart();
    await quorum.assemble(locks, LOCK);
    const asked = await voters(guarded, quorum.name());
    // Unless this machine stood still for that long.
    if (performance.now() - startedMs < GUARD_MS) expect(asked).not.toContain(2);
    await quorum.assemble(guarded, LOCK);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(GUARD_MS);
  });

  test('is not taken for older because a second of the clock has begun since', {
    timeout: 90_000,
  }, async () => {
    // Uptime is told in whole seconds of the clock: one that starts late in a second is a second old very soon.
    const locks = await quorum.assembled(MUTEX, { restartGuardMs: 900 });
    const server = quorum.server(0);
    const name = quorum.name();
    const looks = await waitFor(
      async () => {
        await server.kill();
        await waitFor(() => Date.now() % 1_000 > 850, { limitMs: 2_000 });
        const startedMs = Date.now();
        await server.restart();
        // Late in that second, and soon enough for a look at how it votes.
        const isLate = (await startSecond(server)) === Math.floor(startedMs / 1_000);
        if (!isLate || startedMs % 1_000 <= 850 || Date.now() - startedMs >= 500) return null;
        await waitFor(() => Date.now() % 1_000 < 850);
        const seen: number[][] = [];
        while (Date.now() - startedMs < 700) {
          await using _lease = await locks.mutex(name).acquire();
          const places = await quorum.voters(MUTEX, name);
          // A look that came later than that says nothing.
          if (Date.now() - startedMs < 850) seen.push(places);
        }
        return seen.length > 0 && seen;
      },
      { limitMs: 60_000, what: 'a start at the end of a second, and a look in time' },
    );
    for (const places of looks) expect(places).not.toContain(0);
  });

  test('is guarded against for as long as a lease that was extended', async () => {
    const locks = quorum.guarded({ leaseMs: 3_000, outageMs: 0 });
    const lease = await waitFor(() => locks.lock(quorum.name()).tryAcquire(), { limitMs: 20_000 });
    await lease.extend(3_600_000);
    // None of them has run for an hour: each may have forgotten a lease such as this one.
    const told = await quorum.objections(() => locks.lock(quorum.name()).tryAcquire());
    expect(told).toHaveLength(5);
    for (const { kind, text } of told) {
      expect(kind).toBe('guard');
      expect(Number(/votes in (\d+) ms/.exec(text)?.[1])).toBeGreaterThan(3_000_000);
    }
    expect(await lease.release()).toBe(true);
  });

  test('and has forgotten nothing may vote at once', async () => {
    const args = ['--appendonly', 'yes', '--appendfsync', 'always'];
    const kept = await Promise.all([1, 2, 3].map(() => startRedis({ args })));
    quorum.bench.onEnd(async () => void (await Promise.all(kept.map((server) => server.stop()))));
    for (const kind of KINDS) {
      const [locks, others] = [quorum.session({}, kept), quorum.session({}, kept)];
      const name = quorum.name();
      const lease: Lease = await kind.of(locks, name).acquire();
      await Promise.all(kept.map((server) => server.kill()));
      await Promise.all(kept.map((server) => server.restart()));
      await waitFor(async () => (await kind.of(others, name).tryAcquire()) === null);
      // A server that has just started may take its time over its first answer.
      await waitFor(() => lease.extend(30_000).then(() => true), { what: 'the lease to be kept' });
      expect(await lease.release()).toBe(true);
    }
  });
});

describe('a voter that is killed and comes back empty', { timeout: 900_000 }, () => {
  test('lets a second owner in when nobody guards against it', async () => {
    const trial = new RestartTrial(quorum, { restartGuardMs: 0 }, SEED);
    await waitFor(async () => (await trial.run()).doubles > 0, {
      limitMs: 60_000,
      what: 'two owners at the same time',
    });
  });

  test(`never does with the guard, in ${ROUNDS} random rounds`, async () => {
    const trial = new RestartTrial(quorum, {}, SEED);
    for (let rounds = 0; rounds < ROUNDS; ) {
      const { doubles, rounds: some } = await trial.run();
      expect(doubles, `of ${some}, after ${rounds}`).toBe(0);
      rounds += some;
    }
  });
});
