/** Many callers of one moment share a request. What happens to it must look to each as if it had been its own. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { LockConflictError, LockUnavailableError, LockUnknownError } from '../../../src/index.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { held, MATRIX, rejection, type Subject, useBench, warmUp } from './support.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

const CALLERS = 40;
/** Long against everything that happens here: a key that is gone was removed, not expired. */
const LEASE_MS = 60_000;

const bundles = (requests: readonly (readonly string[])[], isMeant: (args: readonly string[]) => boolean) =>
  requests.filter(isMeant).filter((args) => Number(args[2]) > 2).length;

const names = (): string[] => Array.from({ length: CALLERS }, () => bench.name());

async function expectFree(subject: Subject, all: readonly string[]): Promise<void> {
  for (const name of all) {
    await waitFor(async () => (await held(redis.port, subject, name)) === null, {
      limitMs: 20_000,
      what: `${name} is free`,
    });
  }
}

describe.each(MATRIX)('$client, $subject.kind: a request for many', ({ client, subject }) => {
  test('gets each its lock, and releases them all', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
    await warmUp(locks, subject);
    const all = names();
    const leases = await Promise.all(all.map((name) => subject.of(locks, name).acquire()));
    expect(leases.every((lease) => lease.isHeld)).toBe(true);
    expect(bundles(proxy.history, subject.acquires)).toBeGreaterThan(0);
    expect(await Promise.all(leases.map((lease) => lease.release()))).toEqual(all.map(() => true));
    expect(bundles(proxy.history, subject.releases)).toBeGreaterThan(0);
    await expectFree(subject, all);
  });

  test('whose answer is lost is asked for again under the same holders', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
    await warmUp(locks, subject);
    const cut = proxy.cutAfterRequest((args) => subject.acquires(args) && Number(args[2]) > 2);
    const all = names();
    const leases = await Promise.all(all.map((name) => subject.of(locks, name).acquire()));
    await cut;
    expect(leases.every((lease) => lease.isHeld)).toBe(true);
    expect(await Promise.all(leases.map((lease) => lease.release()))).toEqual(all.map(() => true));
    await expectFree(subject, all);
  });

  test('that is given up before its answer leaves nothing behind', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS, callTimeoutMs: 500 });
    await warmUp(locks, subject);
    const stop = new AbortController();
    proxy.freeze();
    const all = names();
    const errors = all.map((name) => rejection(subject.of(locks, name).acquire({ signal: stop.signal })));
    // Until what they asked for has been written.
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    stop.abort();
    await Promise.all(errors);
    proxy.thaw();
    await expectFree(subject, all);
  });

  test('of releases, without an answer, is told to each and done in the end', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
    await warmUp(locks, subject);
    const all = names();
    const leases = await Promise.all(all.map((name) => subject.of(locks, name).acquire()));
    const cut = proxy.cutBeforeRequest((args) => subject.releases(args) && Number(args[2]) > 1);
    const results = await Promise.allSettled(leases.map((lease) => lease.release()));
    await cut;
    for (const result of results) {
      if (result.status === 'fulfilled') expect(result.value).toBe(true);
      else expect([LockUnknownError, LockUnavailableError]).toContain(result.reason.constructor);
    }
    expect(results.some(({ status }) => status === 'rejected')).toBe(true);
    await expectFree(subject, all);
  });

  test('in which one name holds something else serves the others', async () => {
    const locks = await bench.session(redis.port, { client, leaseMs: LEASE_MS });
    await warmUp(locks, subject);
    const all = names();
    const [odd = '', ...others] = all.toReversed();
    await ask(redis.port, ['RPUSH', odd, 'a list']);
    const conflict = rejection(subject.of(locks, odd).acquire());
    const leases = await Promise.all(others.map((name) => subject.of(locks, name).acquire()));
    expect(await conflict).toBeInstanceOf(LockConflictError);
    await Promise.all(leases.map((lease) => lease.release()));
    expect(await ask(redis.port, ['LLEN', odd])).toBe(1);
    await ask(redis.port, ['DEL', odd]);
  });

  test('of which one key is forbidden serves the others', async () => {
    const user = `user-${client}-${subject.kind}`;
    const rules = ['reset', 'on', '>secret', '&*', '+@all', '~open-*', '~redisson_lock_token:*', '~warm-up'];
    await ask(redis.port, ['ACL', 'SETUSER', user, ...rules]);
    const locks = await bench.session(redis.port, {
      client,
      leaseMs: LEASE_MS,
      username: user,
      password: 'secret',
    });
    await warmUp(locks, subject);
    const open = names().map((name) => `open-${name}`);
    const refused = rejection(subject.of(locks, bench.name()).acquire());
    const leases = await Promise.all(open.map((name) => subject.of(locks, name).acquire()));
    expect(await refused).toBeInstanceOf(LockUnavailableError);
    expect(await Promise.all(leases.map((lease) => lease.release()))).toEqual(open.map(() => true));
    await ask(redis.port, ['ACL', 'DELUSER', user]);
  });
});
