/** Many waiters cost no more than one: commands per release do not grow with them, and every one is served. */
import { describe, expect, test } from 'vitest';
import { CHANNELS, type Locks, type WokenMessage } from '../../../src/index.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { commandCounts } from '../../support/servers/commands.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import {
  type ClientKind,
  held,
  listeners,
  MATRIX,
  SUBJECTS,
  type Subject,
  useBench,
} from '../acquire/support.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

const LEASE_MS = 60_000;

const sessions = (count: number, client: ClientKind, handovers = 64): Promise<Locks[]> =>
  Promise.all(
    Array.from({ length: count }, () => bench.session(redis.port, { client, handovers, leaseMs: LEASE_MS })),
  );

const heardBy = (subject: Subject, name: string, count: number): Promise<boolean> =>
  waitFor(async () => (await listeners(redis.port, subject, name)) === count, {
    what: `${count} connections to listen`,
  });

/** Resolves when no script has been called for a while: everybody sleeps. */
async function asleep(): Promise<void> {
  const counts = await commandCounts(redis);
  await waitFor(
    async () => {
      await counts.restart();
      await new Promise((resolve) => setTimeout(resolve, 100));
      return (await counts.delta())['evalsha'] === undefined;
    },
    { what: 'everybody to sleep' },
  );
}

/** How many have looked of their own accord since, because they had slept for long enough. */
function looks(name: string): () => number {
  const woken = bench.hear<WokenMessage>(CHANNELS.woken);
  return () => woken.filter(({ lock, reason }) => lock === name && reason === 'time').length;
}

describe.each(MATRIX)('$client, $subject.kind: a thousand callers of one process', ({ client, subject }) => {
  test('listen over one connection, and a release costs one attempt for all of them', async () => {
    const [owner, locks] = (await sessions(2, client)) as [Locks, Locks];
    const name = bench.name();
    const lease = await subject.of(owner, name).acquire();
    let inside = 0;
    let served = 0;
    let blocked: (() => void) | null = null;
    const callers = Array.from({ length: 1_000 }, (_, index) =>
      subject.of(locks, name).using(async () => {
        inside += 1;
        expect(inside).toBe(1);
        // The first one stays, so that the cost of getting in is seen alone.
        if (index === 0)
          await new Promise<void>((resolve) => {
            blocked = resolve;
          });
        served += 1;
        inside -= 1;
      }),
    );
    await heardBy(subject, name, 1);
    await asleep();
    const looked = looks(name);
    const counts = await commandCounts(redis);
    expect(await lease.release()).toBe(true);
    await waitFor(() => blocked, { what: 'the first caller to be in' });
    const cost = await counts.delta();
    expect(cost['publish']).toBe(1);
    // The release and one attempt; one more for a message that came while it looked by itself.
    expect(cost['evalsha']).toBeLessThanOrEqual(3 + looked());
    await counts.restart();
    (blocked as unknown as () => void)();
    await Promise.all(callers);
    expect(served).toBe(1_000);
    const { evalsha = 0 } = await counts.delta();
    // Passed on within the process 64 times for each acquisition and release in Redis.
    expect(evalsha).toBeLessThan(200);
    await heardBy(subject, name, 0);
  });
});

describe.each(SUBJECTS)('forty sessions that wait, $kind', (subject) => {
  test('make one attempt each for a release, and no more', async () => {
    const owner = await bench.session(redis.port, { leaseMs: LEASE_MS });
    const [ioredis, nodeRedis] = await Promise.all([sessions(20, 'ioredis'), sessions(20, 'node-redis')]);
    const name = bench.name();
    const lease = await subject.of(owner, name).acquire();
    const controllers: AbortController[] = [];
    const waiting = [...ioredis, ...nodeRedis].map((locks) => {
      const controller = new AbortController();
      controllers.push(controller);
      return subject.of(locks, name).acquire({ signal: controller.signal });
    });
    // Looked at below; those that are aborted are not failures.
    for (const promise of waiting) promise.catch(() => {});
    await heardBy(subject, name, 40);
    await asleep();
    const looked = looks(name);
    const counts = await commandCounts(redis);
    expect(await lease.release()).toBe(true);
    const next = await Promise.race(waiting);
    await asleep();
    const { evalsha = 0 } = await counts.delta();
    expect(evalsha).toBeLessThanOrEqual(1 + 40 + looked());
    for (const controller of controllers) controller.abort();
    expect(await next.release()).toBe(true);
    await Promise.allSettled(waiting);
    await heardBy(subject, name, 0);
    await waitFor(async () => (await held(redis.port, subject, name)) === null, {
      what: 'the key to be gone',
    });
  });
});

describe.each(SUBJECTS)('every waiter is served, $kind', (subject) => {
  test.each([
    { ending: 'after a release', ttlMs: LEASE_MS },
    { ending: 'after the lock has run out', ttlMs: 600 },
  ])('$ending', async ({ ttlMs }) => {
    const name = bench.name();
    await subject.take(redis.port, name, ttlMs);
    const all = [
      ...(await sessions(2, 'ioredis')),
      ...(await sessions(2, 'node-redis', 0)),
      ...(await sessions(1, 'ioredis', 0)),
    ];
    const served = new Map<string, number>();
    let inside = 0;
    const callers = all.flatMap((locks, session) =>
      Array.from({ length: 6 }, (_, caller) =>
        subject.of(locks, name).using(
          async () => {
            inside += 1;
            expect(inside).toBe(1);
            await new Promise((resolve) => setImmediate(resolve));
            served.set(`${session}:${caller}`, (served.get(`${session}:${caller}`) ?? 0) + 1);
            inside -= 1;
          },
          { renew: caller % 2 === 0 },
        ),
      ),
    );
    if (ttlMs === LEASE_MS) {
      await heardBy(subject, name, all.length);
      const other = await bench.session(redis.port);
      await other.forceRelease(name);
    }
    await Promise.all(callers);
    expect(served.size).toBe(30);
    expect(new Set(served.values())).toEqual(new Set([1]));
    await heardBy(subject, name, 0);
  });
});
