/** How real owners' holds end, and what the monitor says of it. */
import type { Redis } from 'ioredis';
import { beforeEach, describe, expect, test } from 'vitest';
import { startChild } from '../../holdfast/test/support/processes/child.ts';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { startRedis, useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import type { HoldView } from '../src/api/types.ts';
import { isLong } from './support/long.ts';
import { client, session, TestMonitor } from './support/monitor.ts';

const server = useRedis();

beforeEach(async () => void (await ask(server.port, ['FLUSHALL'])));

const LEASE_MS = 6_000;
/** Below this two looks are close enough to say that a lease expired; see inference.ts. */
const CLOSE_MS = 1_000;
const LIMIT = { limitMs: 60_000 };
/** Each takes two seconds. */
const FLUSHES = isLong ? [['FLUSHALL'], ['FLUSHDB'], ['SWAPDB', '0', '1']] : [['FLUSHALL']];

async function endOf(seen: TestMonitor, name: string): Promise<HoldView> {
  return waitFor(async () => (await seen.detail(name)).holds.find(({ end }) => end !== null), {
    ...LIMIT,
    what: `the end of ${name}`,
  });
}

/** Writes into the audit trail as another process does. */
async function note(redis: Redis, fields: Readonly<Record<string, string>>): Promise<void> {
  await redis.xadd('holdfast_audit', '*', ...Object.entries(fields).flat());
}

describe('the end of a hold', () => {
  test('of a killed and of a frozen owner is its expiry, of a fixed lease that it ran out', async () => {
    const seen = new TestMonitor({ redis: client(server.port) });
    const start = (name: string) =>
      startChild(`${import.meta.dirname}/children/holder.ts`, [String(server.port), name, String(LEASE_MS)]);
    const [killed, frozen] = [start('killed'), start('frozen')];
    const locks = session(client(server.port));
    await locks.lock('fixed').acquire({ leaseMs: 9_000, renew: false });
    await seen.untilRow('fixed');
    // An owner that lets go at its own end, 1 % before the server's, is judged in `inference.test.ts`: on a busy machine it is late or early.
    await locks.destroy();
    await Promise.all([killed.next(), frozen.next()]);
    await Promise.all(['killed', 'frozen'].map((name) => seen.untilRow(name, ({ renewing }) => renewing)));
    frozen.stop();
    await killed.kill();
    for (const name of ['killed', 'frozen']) {
      const { end, withinMs } = await endOf(seen, name);
      // A machine that stood still between the two looks does not know, and says so.
      expect(end, `${name}, within ${withinMs} ms`).toBe((withinMs ?? 0) <= CLOSE_MS ? 'expired' : 'unknown');
    }
    expect((await endOf(seen, 'fixed')).end).toBe('ran-out');
    frozen.cont();
    await frozen.kill();
  });

  test('is a release where the owner released, also many times in a row', async () => {
    const locks = session(client(server.port));
    const lease = await locks.lock('given').acquire({ leaseMs: 60_000 });
    const seen = new TestMonitor({ redis: client(server.port) });
    await seen.untilRow('given');
    await lease.release();
    expect(await endOf(seen, 'given')).toMatchObject({
      end: 'released',
      sure: 'yes',
      holder: `${locks.session}:1`,
    });
    for (let i = 0; i < 3; i += 1) {
      const again = await locks.lock('given').acquire({ leaseMs: 60_000 });
      await seen.untilRow('given');
      await again.release();
      await waitFor(() => seen.row('given') === undefined);
    }
    const { counters } = await waitFor(() => {
      const figures = seen.monitor.figures.read();
      return figures.counters.ends.released >= 4 ? figures : null;
    });
    expect({ ...counters.ends, released: 0 }).toEqual({
      ...Object.fromEntries(Object.keys(counters.ends).map((end) => [end, 0])),
    });
  });

  test('is forced where the trail has it, also where another process wrote that', async () => {
    const redis = client(server.port);
    const locks = session(client(server.port));
    await locks.lock('taken').acquire({ leaseMs: 60_000 });
    const seen = new TestMonitor({ redis });
    const { holder } = await seen.untilRow('taken');
    await note(redis, { id: 'x1', phase: 'asked', action: 'release', lock: 'taken', holder });
    await locks.forceRelease('taken');
    expect(await endOf(seen, 'taken')).toMatchObject({ end: 'forced', sure: 'yes' });
  });

  test('is a release where the trail says that nothing was taken', async () => {
    const redis = client(server.port);
    const lease = await session(client(server.port)).lock('kept').acquire({ leaseMs: 60_000 });
    const seen = new TestMonitor({ redis });
    const { holder } = await seen.untilRow('kept');
    await note(redis, { id: 'x2', phase: 'asked', action: 'release', lock: 'kept', holder });
    await note(redis, { id: 'x2', phase: 'done', result: 'not done: no answer within 5 s' });
    await lease.release();
    expect(await endOf(seen, 'kept')).toMatchObject({ end: 'released' });
  });

  test('is forced once where the same owner holds it again, as a thread of Redisson does', async () => {
    const redis = client(server.port);
    const holder = '8743c9c0-0795-4907-87fd-6c719a6b4586:41';
    const hold = async (): Promise<void> => {
      await redis.hset('again', holder, '1');
      await redis.pexpire('again', 600_000);
    };
    await hold();
    const seen = new TestMonitor({ redis });
    await seen.untilRow('again');
    await note(redis, { id: 'x3', phase: 'asked', action: 'release', lock: 'again', holder });
    await redis.del('again');
    await note(redis, { id: 'x3', phase: 'done', result: `released from ${holder}` });
    expect(await endOf(seen, 'again')).toMatchObject({ end: 'forced', sure: 'yes' });
    await hold();
    await seen.untilRow('again');
    await redis.del('again');
    const ends = await waitFor(
      async () => {
        const { holds } = await seen.detail('again');
        const found = holds.flatMap(({ end }) => end ?? []);
        return found.length === 2 ? found : null;
      },
      { ...LIMIT, what: 'two ends' },
    );
    expect(ends).toEqual(['released', 'forced']);
  });

  test.each(FLUSHES)('is vanished after %s', async (...flush) => {
    const redis = client(server.port);
    const locks = session(client(server.port));
    await locks.lock('flushed').acquire({ leaseMs: 60_000 });
    const seen = new TestMonitor({ redis });
    await seen.untilRow('flushed');
    await waitFor(
      () => seen.monitor.figures.read().servers.get(`127.0.0.1:${server.port}`)?.memoryUsed != null,
    );
    await ask(server.port, flush);
    expect(await endOf(seen, 'flushed')).toMatchObject({ end: 'vanished' });
    expect(seen.monitor.figures.read().endsSince(0)).toMatchObject([{ name: 'flushed', cause: 'flushed' }]);
  });

  test('is vanished where the server evicted it', async () => {
    const tight = await startRedis({ args: ['--maxmemory-policy', 'volatile-lru'] });
    const redis = client(tight.port);
    const locks = session(client(tight.port));
    await locks.lock('evicted').acquire({ leaseMs: 60_000 });
    const seen = new TestMonitor({ redis });
    await seen.untilRow('evicted');
    await waitFor(
      () => seen.monitor.figures.read().servers.get(`127.0.0.1:${tight.port}`)?.memoryUsed != null,
    );
    await redis.config('SET', 'maxmemory', '1');
    // Evicts on the next command that writes.
    await redis.set('more', 'x').catch(() => {});
    expect(await endOf(seen, 'evicted')).toMatchObject({ end: 'vanished' });
    expect(seen.monitor.figures.read().endsSince(0)).toMatchObject([{ name: 'evicted', cause: 'evicted' }]);
  });

  test('is vanished where the server restarted without its data', async () => {
    const weak = await startRedis();
    const locks = session(client(weak.port));
    await locks.lock('forgotten').acquire({ leaseMs: 120_000, renew: false });
    const seen = new TestMonitor({ redis: client(weak.port) });
    await seen.untilRow('forgotten');
    await waitFor(
      () => seen.monitor.figures.read().servers.get(`127.0.0.1:${weak.port}`)?.memoryUsed != null,
    );
    await weak.restart();
    expect(await endOf(seen, 'forgotten')).toMatchObject({ end: 'vanished' });
    await waitFor(() => seen.monitor.figures.read().endsSince(0)[0]?.cause === 'restarted');
  });
});
