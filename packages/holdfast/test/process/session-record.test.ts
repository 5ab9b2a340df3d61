/** What stands in Redis about a session, for those who ask who holds a lock. */

import { hostname } from 'node:os';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { LockConfigError, Locks, type LocksOptions } from '../../src/index.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { useLeakCheck } from '../support/leak-check.ts';
import { listedNames } from '../support/locks/listed.ts';
import { ask } from '../support/servers/raw-redis.ts';
import { useRedis } from '../support/servers/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';

const RECORD_TTL_MS = 60_000;

const redis = useRedis();
useLeakCheck(redis);

function openLocks(options: LocksOptions, login = {}): Locks {
  return new Locks(new Redis(redis.port, { lazyConnect: true, ...login }), options);
}

const keyOf = (locks: Locks): string => `holdfast_session:${locks.session}`;

const readRecord = async (locks: Locks): Promise<unknown> => ask(redis.port, ['HGETALL', keyOf(locks)]);

async function recorded(locks: Locks): Promise<void> {
  await waitFor(async () => (await ask(redis.port, ['EXISTS', keyOf(locks)])) === 1, { what: 'the record' });
}

test('a session with an application says who it is once it holds something', async () => {
  await using locks = openLocks({ application: 'billing' });
  expect(await locks.inspect('a')).toBeNull();
  expect(await readRecord(locks)).toEqual([]);

  await using _lease = await locks.lock('a').acquire();
  await recorded(locks);

  expect(await readRecord(locks)).toEqual([
    'application',
    'billing',
    'host',
    hostname(),
    'pid',
    `${process.pid}`,
  ]);
  const ttlMs = Number(await ask(redis.port, ['PTTL', keyOf(locks)]));
  expect(ttlMs).toBeGreaterThan(RECORD_TTL_MS / 2);
  expect(ttlMs).toBeLessThanOrEqual(RECORD_TTL_MS);
});

test('a record stands outside the prefix, and no list takes it for a lock', async () => {
  await using locks = openLocks({ application: 'billing', prefix: 'shop:' });
  await using _lease = await locks.lock('a').acquire();
  await recorded(locks);

  await using everywhere = openLocks({});
  expect(await listedNames(everywhere)).toEqual(['shop:a']);
});

test('a record is removed by close, and only expires after destroy', async () => {
  await using closed = openLocks({ application: 'billing' });
  await closed.lock('a').acquire();
  await recorded(closed);
  await closed.close();
  expect(await readRecord(closed)).toEqual([]);

  await using destroyed = openLocks({ application: 'billing' });
  await destroyed.lock('a').acquire();
  await recorded(destroyed);
  await destroyed.destroy();
  expect(await ask(redis.port, ['EXISTS', keyOf(destroyed)])).toBe(1);
  await ask(redis.port, ['DEL', keyOf(destroyed), 'a']);
});

test('a record that was lost comes back while the session lives', async () => {
  const clock = new FakeClock();
  await using locks = openLocks({ application: 'billing', clock });
  const lease = await locks.lock('a').acquire({ leaseMs: 3_600_000, renew: false });
  await clock.advance(1);
  await recorded(locks);
  await ask(redis.port, ['DEL', keyOf(locks)]);
  await lease.release();

  await waitFor(
    async () => {
      await clock.advance(RECORD_TTL_MS / 3);
      return (await ask(redis.port, ['EXISTS', keyOf(locks)])) === 1;
    },
    { what: 'the record to be written anew' },
  );
});

test('a user who may not write the record locks all the same', async () => {
  const rules = ['reset', 'on', '>pass', '~a', '~redisson_lock_token:{a}', '&*', '+@all'];
  await ask(redis.port, ['ACL', 'SETUSER', 'narrow', ...rules]);
  const login = { username: 'narrow', password: 'pass' };
  await using locks = openLocks({ application: 'billing' }, login);

  const lease = await locks.lock('a').acquire();
  await waitFor(async () => String(await ask(redis.port, ['ACL', 'LOG'])).includes(keyOf(locks)), {
    what: 'the record to be refused',
  });
  expect(lease.isHeld).toBe(true);
  expect(await lease.release()).toBe(true);
  expect(await readRecord(locks)).toEqual([]);
});

test.each([
  ['empty', ''],
  ['no string', 7],
  ['null', null],
  ['too long', 'x'.repeat(1025)],
])('an application that is %s is refused at once', (_what, application) => {
  // The types forbid some of these; callers without types get an error all the same.
  expect(() => openLocks({ application } as LocksOptions)).toThrow(LockConfigError);
});
