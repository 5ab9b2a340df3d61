/** Contention and outage are two different endings of a wait, and neither lets the body run afterwards. */

import { describe, expect, test } from 'vitest';
import { LockError, LockTimeoutError, LockUnavailableError, LockUnknownError } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { answered } from '../../support/locks/answered.ts';
import { untilFree, untilListening, untilWaiting } from '../../support/locks/held.ts';
import { KINDS, LOCK } from '../../support/locks/kind.ts';
import { untilAsleep, warmUp } from '../../support/locks/warm-up.ts';
import { rejection } from '../../support/rejection.ts';
import { freePort } from '../../support/servers/free-port.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { MATRIX } from '../matrix.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

const LEASE_MS = 60_000;
/** So long may an attempt take whose caller does not wait. */
const ATTEMPT_MS = 250;

function expectOutage(error: unknown, name: string): void {
  expect(error).toBeInstanceOf(LockUnavailableError);
  expect(error).toMatchObject({ code: 'ELOCKUNAVAILABLE', lock: name });
  // Each server that failed is told, with its own words.
  expect(error).toMatchObject({ servers: [{ server: expect.stringContaining('127.0.0.1') }] });
}

describe.each(MATRIX)('$client, $kind.name: a wait that ends', ({ client, kind }) => {
  test('while somebody else holds the lock is a timeout that says who, and the body never runs', async () => {
    const locks = await bench.session(redis.port, { client });
    await warmUp(locks, kind);
    const name = bench.name();
    await kind.seize(redis.port, name, LEASE_MS);
    let hasRun = false;
    const body = (): void => {
      hasRun = true;
    };
    // Its attempts have no longer than this to be answered: an answer that is late would be an outage.
    const waitMs = 1_500;
    let startMs = 0;
    const error = await answered(() => {
      startMs = performance.now();
      return kind.of(locks, name).using(body, { waitMs });
    });
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(waitMs - 1);
    expect(error).toBeInstanceOf(LockTimeoutError);
    // A mutex's token is a secret: whoever has it can release.
    const owner = kind === LOCK ? kind.foreignOwner : undefined;
    expect(error).toMatchObject({ code: 'ELOCKTIMEOUT', lock: name, holder: { owner } });
    await untilListening(redis.port, kind, name, { count: 0 });
    expect(await locks.forceRelease(name)).toBe(kind.shown(kind.foreignOwner));
    // Everything that the release could have set in motion comes before the answer to this.
    expect(await kind.of(locks, name).using(() => 'free')).toBe('free');
    expect(hasRun).toBe(false);
  });

  test('with no time to wait is one attempt', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client });
    const name = bench.name();
    await kind.seize(redis.port, name, LEASE_MS);
    await warmUp(locks, kind);
    const attempt = (): Promise<unknown> => rejection(kind.of(locks, name).acquire({ waitMs: 0 }));
    // The first is repeated if the server's time was heard late. One that took all of its time has met a slow
    // machine and nothing else, and another is made.
    await attempt();
    const error = await waitFor(async () => {
      proxy.clearHistory();
      const told = await attempt();
      const isSlow = told instanceof LockError && (told.elapsedMs ?? 0) >= ATTEMPT_MS;
      return isSlow && !(told instanceof LockTimeoutError) ? null : told;
    });
    expect(error).toBeInstanceOf(LockTimeoutError);
    expect(proxy.history.filter(kind.acquires)).toHaveLength(1);
    expect(await locks.forceRelease(name)).toBe(kind.shown(kind.foreignOwner));
  });

  test('during an outage is an outage, also when somebody held the lock before it', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client });
    await warmUp(locks, kind);
    const [free, taken] = [bench.name(), bench.name()];
    await kind.seize(redis.port, taken, LEASE_MS);
    let hasRun = false;
    const body = (): void => {
      hasRun = true;
    };
    const waiting = rejection(kind.of(locks, taken).using(body, { waitMs: 3_500 }));
    await untilAsleep(locks, proxy, kind, taken);
    proxy.refuse();
    proxy.cutAll();
    const late = rejection(kind.of(locks, free).using(body, { waitMs: 2_000 }));
    expectOutage(await late, free);
    expectOutage(await waiting, taken);
    expect(hasRun).toBe(false);
    await proxy.accept();
    // What was refused before that may be told now.
    const released = await waitFor(() => locks.forceRelease(taken), {
      what: 'the server to be reached again',
    });
    expect(released).toBe(kind.shown(kind.foreignOwner));
    // Nobody could be told that the wait was over. It leaves the line late.
    await untilWaiting(redis.port, taken, 0);
    expect(hasRun).toBe(false);
  });

  test('is over at once for a server that was never reached, and says what the system said', async () => {
    const port = await freePort();
    const locks = await bench.session(port, { client });
    const name = bench.name();
    for (const verb of ['acquire', 'tryAcquire'] as const) {
      const startMs = performance.now();
      const error = await rejection(kind.of(locks, name)[verb]());
      expectOutage(error, name);
      // Once it has been reached, a server that is away is waited for twice as long.
      expect(performance.now() - startMs).toBeLessThan(5_000);
      expect(error).toMatchObject({ message: expect.stringContaining('ECONNREFUSED') });
      expect(error).toMatchObject({
        servers: [{ text: expect.stringContaining(`ECONNREFUSED 127.0.0.1:${port}`) }],
      });
    }
  });

  test('by an outage longer than waiters sit out ends for all of them', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, outageMs: 400, callTimeoutMs: 800 });
    await warmUp(locks, kind);
    const name = bench.name();
    // Its end is what makes them ask: long enough that they wait before it, soon enough for a test.
    await kind.seize(redis.port, name, 3_000);
    const waiting = Array.from({ length: 5 }, () => rejection(kind.of(locks, name).acquire()));
    await untilListening(redis.port, kind, name);
    proxy.refuse();
    proxy.cutAll();
    for (const error of await Promise.all(waiting)) expectOutage(error, name);
    await proxy.accept();
    await untilFree(redis.port, kind, name);
  });
});

describe.each(KINDS)('an outage shorter than waiters sit out, $name', (kind) => {
  test('of the network is waited out, and every waiter is served', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { outageMs: 20_000 });
    const name = bench.name();
    await kind.seize(redis.port, name, LEASE_MS);
    const served: number[] = [];
    const waiting = [0, 1, 2].map((index) => kind.of(locks, name).using(() => served.push(index)));
    await untilListening(redis.port, kind, name);
    proxy.refuse();
    proxy.cutAll();
    const other = await bench.session(redis.port);
    expect(await other.forceRelease(name)).toBe(kind.shown(kind.foreignOwner));
    await proxy.accept();
    await Promise.all(waiting);
    expect(served).toEqual([0, 1, 2]);
  });

  test('of a server that dies and comes back empty is waited out, and every waiter is served', async () => {
    const locks = await bench.session(redis.port, { outageMs: 20_000 });
    const name = bench.name();
    await kind.seize(redis.port, name, LEASE_MS);
    const served: number[] = [];
    const waiting = [0, 1, 2].map((index) => kind.of(locks, name).using(() => served.push(index)));
    await untilListening(redis.port, kind, name);
    await redis.kill();
    const late = kind.of(locks, name).using(() => served.push(3));
    await redis.restart();
    await Promise.all([...waiting, late]);
    expect(served).toEqual([0, 1, 2, 3]);
  });

  test('of a frozen server is waited out, and nobody is told that somebody else holds it', async () => {
    const locks = await bench.session(redis.port, { callTimeoutMs: 500 });
    const name = bench.name();
    await warmUp(locks, kind);
    redis.freeze();
    const patient = kind.of(locks, name).using(() => 'served');
    const isOutage = async (acquiring: Promise<unknown>): Promise<boolean> => {
      const error = await rejection(acquiring);
      return error instanceof LockUnavailableError || error instanceof LockUnknownError;
    };
    // Ends with an attempt that got no answer, so that this is what whoever waits behind the first is told.
    expect(await isOutage(kind.of(locks, name).tryAcquire())).toBe(true);
    expect(await isOutage(kind.of(locks, name).acquire({ waitMs: 300 }))).toBe(true);
    redis.resume();
    expect(await patient).toBe('served');
  });
});
