/** Many callers of one moment share a request. What happens to it must look to each as if it had been its own. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  LockAbortedError,
  LockConflictError,
  LockUnavailableError,
  LockUnknownError,
} from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { held, untilFree } from '../../support/locks/held.ts';
import type { Kind } from '../../support/locks/kind.ts';
import { LOCK } from '../../support/locks/kind.ts';
import { warmUp } from '../../support/locks/warm-up.ts';
import { rejection } from '../../support/rejection.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { MATRIX } from '../matrix.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

const CALLERS = 40;
/** Long against everything that happens here: a key that is gone was removed, not expired. */
const LEASE_MS = 60_000;

/** How many keys go with one name, at its acquire and at its release. */
const keysEach = (kind: Kind): number => (kind === LOCK ? 3 : 2);

/** Whether a request is for more than one name. */
const isForMany = (args: readonly string[], kind: Kind): boolean => Number(args[2]) > keysEach(kind);

const bundles = (
  requests: readonly (readonly string[])[],
  kind: Kind,
  isMeant: (args: readonly string[]) => boolean,
) => requests.filter(isMeant).filter((args) => isForMany(args, kind)).length;

/** Who asks for which name, in a request for many: the first keys of all, and the holders behind the word that says what all share. */
function holdersIn(args: readonly string[], kind: Kind): Map<string, string> {
  const keyCount = Number(args[2]);
  const keys = args.slice(3, 3 + keyCount / keysEach(kind));
  return new Map(keys.map((key, i) => [key, args[4 + keyCount + i] ?? '']));
}

const names = (): string[] => Array.from({ length: CALLERS }, () => bench.name());

async function expectFree(kind: Kind, all: readonly string[]): Promise<void> {
  for (const name of all) await untilFree(redis.port, kind, name);
}

describe.each(MATRIX)('$client, $kind.name: a request for many', ({ client, kind }) => {
  test('gets each its lock, and releases them all', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
    await warmUp(locks, kind);
    const all = names();
    const leases = await Promise.all(all.map((name) => kind.of(locks, name).acquire()));
    expect(leases.every((lease) => lease.isHeld)).toBe(true);
    expect(bundles(proxy.history, kind, kind.acquires)).toBeGreaterThan(0);
    expect(await Promise.all(leases.map((lease) => lease.release()))).toEqual(all.map(() => true));
    expect(bundles(proxy.history, kind, kind.releases)).toBeGreaterThan(0);
    await expectFree(kind, all);
  });

  test('whose answer is lost is asked for again under the same holders', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
    await warmUp(locks, kind);
    const cut = proxy.cutAfterRequest((args) => kind.acquires(args) && isForMany(args, kind));
    const all = names();
    const leases = await Promise.all(all.map((name) => kind.of(locks, name).acquire()));
    const unanswered = holdersIn(await cut, kind);
    expect(unanswered.size).toBeGreaterThan(1);
    for (const [name, owner] of unanswered) {
      expect(await held(redis.port, kind, name)).toMatchObject({ owner, count: 1 });
    }
    expect(leases.every((lease) => lease.isHeld)).toBe(true);
    expect(await Promise.all(leases.map((lease) => lease.release()))).toEqual(all.map(() => true));
    await expectFree(kind, all);
  });

  test('that is given up before its answer leaves nothing behind', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS, callTimeoutMs: 500 });
    await warmUp(locks, kind);
    const stop = new AbortController();
    proxy.freeze();
    const all = names();
    const errors = all.map((name) => rejection(kind.of(locks, name).acquire({ signal: stop.signal })));
    // Until what they asked for has been written.
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    stop.abort();
    for (const error of await Promise.all(errors)) expect(error).toBeInstanceOf(LockAbortedError);
    proxy.clearHistory();
    proxy.thaw();
    // It had been written: it arrives, with the releases behind it.
    await waitFor(() => bundles(proxy.history, kind, kind.acquires) > 0, { what: 'the request to arrive' });
    await expectFree(kind, all);
  });

  test('of releases, without an answer, is told to each and done in the end', async () => {
    const proxy = await bench.proxy(redis.port);
    const locks = await bench.session(proxy.port, { client, leaseMs: LEASE_MS });
    await warmUp(locks, kind);
    const all = names();
    const leases = await Promise.all(all.map((name) => kind.of(locks, name).acquire()));
    const cut = proxy.cutBeforeRequest((args) => kind.releases(args) && isForMany(args, kind));
    const results = await Promise.allSettled(leases.map((lease) => lease.release()));
    await cut;
    for (const result of results) {
      if (result.status === 'fulfilled') expect(result.value).toBe(true);
      else expect([LockUnknownError, LockUnavailableError]).toContain(result.reason.constructor);
    }
    expect(results.some(({ status }) => status === 'rejected')).toBe(true);
    await expectFree(kind, all);
  });

  test('in which one name holds something else serves the others', async () => {
    const locks = await bench.session(redis.port, { client, leaseMs: LEASE_MS });
    await warmUp(locks, kind);
    const all = names();
    const [odd = '', ...others] = all.toReversed();
    await ask(redis.port, ['RPUSH', odd, 'a list']);
    const conflict = rejection(kind.of(locks, odd).acquire());
    const leases = await Promise.all(others.map((name) => kind.of(locks, name).acquire()));
    expect(await conflict).toBeInstanceOf(LockConflictError);
    await Promise.all(leases.map((lease) => lease.release()));
    expect(await ask(redis.port, ['LLEN', odd])).toBe(1);
    await ask(redis.port, ['DEL', odd]);
  });

  test('of which one key is forbidden serves the others', async () => {
    const user = `user-${client}-${kind.name}`;
    const beside = ['~redisson_lock_token:*', '~holdfast_line:*'];
    const rules = ['reset', 'on', '>secret', '&*', '+@all', '~open-*', '~warm-up', ...beside];
    await ask(redis.port, ['ACL', 'SETUSER', user, ...rules]);
    const locks = await bench.session(redis.port, {
      client,
      leaseMs: LEASE_MS,
      username: user,
      password: 'secret',
    });
    await warmUp(locks, kind);
    const open = names().map((name) => `open-${name}`);
    const refused = rejection(kind.of(locks, bench.name()).acquire());
    const leases = await Promise.all(open.map((name) => kind.of(locks, name).acquire()));
    expect(await refused).toBeInstanceOf(LockUnavailableError);
    expect(await Promise.all(leases.map((lease) => lease.release()))).toEqual(open.map(() => true));
    await ask(redis.port, ['ACL', 'DELUSER', user]);
  });
});
