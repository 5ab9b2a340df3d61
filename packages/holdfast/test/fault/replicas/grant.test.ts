/** With `replicas`, a grant counts only once enough of them have it. */
import { describe, expect, test } from 'vitest';
import { LockUnavailableError } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { held } from '../../support/locks/held.ts';
import { LOCK } from '../../support/locks/kind.ts';
import { warmUp } from '../../support/locks/warm-up.ts';
import { rejection } from '../../support/rejection.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { startRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { MATRIX } from '../matrix.ts';
import { has, useReplication } from './support.ts';

const replication = useReplication();
const { primary, replicas } = replication;
useLeakCheck([primary]);
const bench = useBench();

const ONE = { min: 1, timeoutMs: 300 };
const BOTH = { min: 2, timeoutMs: 300 };

function freeze(): void {
  for (const replica of replicas) replica.freeze();
}

function resume(): void {
  for (const replica of replicas) replica.resume();
}

describe.each(MATRIX)('a $kind.name by $client', ({ client, kind }) => {
  test('that both replicas must have is there when it is granted', async () => {
    const locks = await bench.session(primary.port, { client, replicas: { ...BOTH, timeoutMs: 4_000 } });
    const name = bench.name();
    const lease = await kind.of(locks, name).acquire();
    for (const replica of replicas) expect(await has(replica, name)).toBe(true);
    expect(await lease.release()).toBe(true);
  });

  test('that too few replicas have is given back and told, and the next one works', async () => {
    const locks = await bench.session(primary.port, { client, replicas: ONE });
    const name = bench.name();
    await warmUp(locks, kind);
    freeze();
    const error = await rejection(kind.of(locks, name).tryAcquire());
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(String(error)).toMatch(/wanted 1 replica to have it, 0 had it after \d+ ms/);
    expect((error as LockUnavailableError).servers).toMatchObject([{ kind: 'replicas' }]);
    await waitFor(async () => (await held(primary.port, kind, name)) === null);
    resume();
    const lease = await kind.of(locks, name).acquire();
    expect(await lease.release()).toBe(true);
    await replication.group.untilInSync(primary);
    for (const replica of replicas) expect(await has(replica, name)).toBe(false);
  });
});

describe('while too few replicas have a lock', () => {
  test('a wait that ends says so, in its time', async () => {
    const locks = await bench.session(primary.port, { replicas: ONE, outageMs: 120_000 });
    await warmUp(locks, LOCK);
    freeze();
    const startedMs = performance.now();
    const error = await rejection(locks.lock(bench.name()).acquire({ waitMs: 1_000 }));
    // Well before an outage would be over.
    expect(performance.now() - startedMs).toBeLessThan(60_000);
    expect(error).toBeInstanceOf(LockUnavailableError);
    // The last attempt has less time than replicas are given, and may be over before they are counted.
    expect(String(error)).toMatch(/replicas, (wanted 1 replica|replicas were not counted)/);
    resume();
  });

  test('a longer wait is served once they have it', async () => {
    const locks = await bench.session(primary.port, { replicas: BOTH, outageMs: 60_000 });
    await warmUp(locks, LOCK);
    const name = bench.name();
    freeze();
    const releases = bench.diagnostics<{ lock: string }>('holdfast:lease:late-release');
    const waiting = locks.lock(name).acquire();
    await waitFor(() => releases.some(({ lock }) => lock === name), { what: 'a first grant to be undone' });
    resume();
    const lease = await waiting;
    expect(lease.isHeld).toBe(true);
    await lease.release();
  });

  test('other calls of the session are answered at once', async () => {
    const locks = await bench.session(primary.port, { replicas: { min: 1, timeoutMs: 4_000 } });
    await warmUp(locks, LOCK);
    freeze();
    await waitFor(
      async () => {
        const name = bench.name();
        let isOver = false;
        const acquiring = rejection(locks.lock(name).tryAcquire()).finally(() => {
          isOver = true;
        });
        await waitFor(async () => isOver || (await locks.inspect(name)) !== null);
        for (let i = 0; i < 10; i += 1) await locks.inspect(name);
        // While the replicas are still being waited for. A machine that stood still for that long is asked again.
        const isAnswered = !isOver;
        expect(await acquiring).toBeInstanceOf(LockUnavailableError);
        return isAnswered;
      },
      { limitMs: 60_000, what: 'ten answers while the replicas are waited for' },
    );
    resume();
  });

  test('a lock is entered again only when they have that too, and stays held meanwhile', async () => {
    const locks = await bench.session(primary.port, { replicas: ONE, leaseMs: 60_000 });
    const lock = locks.lock(bench.name());
    const lease = await lock.acquire();
    freeze();
    const error = await rejection(lock.tryAcquire({ within: lease }));
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(lease.isHeld).toBe(true);
    resume();
    const inner = await lock.acquire({ within: lease });
    await inner.release();
    expect(await lease.release()).toBe(true);
  });
});

describe('a server that cannot count replicas', () => {
  test('is told from one that has none, once, and nothing is granted from then on', async () => {
    const server = await startRedis({ args: ['--rename-command', 'WAIT', ''] });
    const proxy = await bench.proxy(server.port);
    const locks = await bench.session(proxy.port, { replicas: ONE });
    const text = /the server does not know WAIT, which replicas\.min 1 needs/;
    const error = await rejection(locks.lock('a').acquire());
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(String(error)).toMatch(text);
    await waitFor(async () => (await ask(server.port, ['EXISTS', 'a'])) === 0);
    proxy.clearHistory();
    expect(String(await rejection(locks.lock('b').tryAcquire()))).toMatch(text);
    expect(proxy.history).toEqual([]);
    await locks.destroy();
    await server.stop();
  });

  test('because our user may not is told NOPERM', async () => {
    const rules = ['on', '>secret', '~*', '&*', '+@all', '-wait'];
    await ask(primary.port, ['ACL', 'SETUSER', 'ann', ...rules]);
    const locks = await bench.session(primary.port, { username: 'ann', password: 'secret', replicas: ONE });
    const error = await rejection(locks.lock(bench.name()).acquire());
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(String(error)).toMatch(/replicas were not counted: NOPERM/);
    await ask(primary.port, ['ACL', 'DELUSER', 'ann']);
  });
});
