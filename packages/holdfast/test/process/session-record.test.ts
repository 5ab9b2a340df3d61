/** What stands in Redis about a session, for those who ask who holds a lock. */

import { hostname } from 'node:os';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import {
  type ListOptions,
  LockConfigError,
  Locks,
  type LocksOptions,
  type SessionRecord,
} from '../../src/index.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { useLeakCheck } from '../support/leak-check.ts';
import { listedNames } from '../support/locks/listed.ts';
import { ask } from '../support/servers/raw-redis.ts';
import { useRedis } from '../support/servers/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';

const RECORD_TTL_MS = 60_000;

const redis = useRedis();
const quorum = [redis, useRedis(), useRedis()];
useLeakCheck(quorum);

function openLocks(options: LocksOptions, login = {}): Locks {
  return new Locks(new Redis(redis.port, { lazyConnect: true, ...login }), options);
}

const keyOf = (locks: Locks): string => `holdfast_session:${locks.session}`;

const readRecord = async (locks: Locks): Promise<unknown> => ask(redis.port, ['HGETALL', keyOf(locks)]);

async function recorded(locks: Locks): Promise<void> {
  await waitFor(async () => (await ask(redis.port, ['EXISTS', keyOf(locks)])) === 1, { what: 'the record' });
}

/** The record of each lock and mutex, by name. */
async function recordsIn(
  locks: Locks,
  options: ListOptions,
): Promise<readonly (readonly [string, SessionRecord | undefined])[]> {
  const found: (readonly [string, SessionRecord | undefined])[] = [];
  for await (const inspection of locks.list(options)) {
    found.push([inspection.name, inspection.kind === 'lock' ? inspection.record : undefined]);
  }
  return found.sort(([a], [b]) => (a < b ? -1 : 1));
}

async function countHmget(): Promise<number> {
  const stats = String(await ask(redis.port, ['INFO', 'commandstats']));
  return Number(/cmdstat_hmget:calls=(\d+)/.exec(stats)?.[1] ?? 0);
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

  await using everywhere = openLocks({ application: false });
  expect(await listedNames(everywhere)).toEqual(['shop:a']);
});

test('inspect and list tell who the owner is when they are asked to, and only then', async () => {
  await using locks = openLocks({ application: 'billing', prefix: 'shop:' });
  await using silent = openLocks({ application: false, prefix: 'shop:' });
  await using _a = await locks.lock('a').acquire();
  await using _b = await locks.mutex('b').acquire();
  await using _c = await silent.lock('c').acquire();
  await recorded(locks);

  const record = { application: 'billing', host: hostname(), pid: process.pid };
  expect(await silent.inspect('a', { record: true })).toMatchObject({ kind: 'lock', record });
  expect(await silent.inspect('a')).not.toHaveProperty('record');
  // The token of a mutex names no session, and a session with `application: false` has no record.
  for (const name of ['b', 'c'])
    expect(await silent.inspect(name, { record: true })).not.toHaveProperty('record');
  expect(await recordsIn(silent, { record: true })).toEqual([
    ['a', record],
    ['b', undefined],
    ['c', undefined],
  ]);
  expect(await recordsIn(silent, {})).toEqual([
    ['a', undefined],
    ['b', undefined],
    ['c', undefined],
  ]);
});

test('a list reads the record of each session once, and inspections without records read none', async () => {
  await using locks = openLocks({ application: 'billing' });
  await Promise.all(Array.from({ length: 200 }, (_, i) => locks.lock(`many:${i}`).acquire()));
  await recorded(locks);

  // Each look at a name reads its line by one HMGET, and each record is read by one more.
  const before = await countHmget();
  expect(await recordsIn(locks, { prefix: 'many:' })).toHaveLength(200);
  await locks.inspect('many:1');
  expect(await countHmget()).toBe(before + 201);
  const found = await recordsIn(locks, { prefix: 'many:', record: true });
  expect(found.filter(([, record]) => record !== undefined)).toHaveLength(200);
  expect(await countHmget()).toBe(before + 401 + 1);
});

test('an owner whose record may not be read is shown without it', async () => {
  await using locks = openLocks({ application: 'billing' });
  await using _lease = await locks.lock('a').acquire();
  await recorded(locks);
  await ask(redis.port, [
    'ACL',
    'SETUSER',
    'onlooker',
    'reset',
    'on',
    '>pass',
    '~*',
    '&*',
    '+@all',
    '-hmget',
  ]);
  await using onlooker = openLocks({}, { username: 'onlooker', password: 'pass' });

  expect(await onlooker.inspect('a', { record: true })).toMatchObject({ owner: `${locks.session}:1` });
  expect(await recordsIn(onlooker, { record: true })).toEqual([['a', undefined]]);
});

test('in a quorum a record on one server is enough, whichever it is', async () => {
  const owner = '0b7c1d52-3f64-4a8e-9c05-7d1e2f3a4b5c';
  for (const { port } of quorum) await ask(port, ['HSET', 'a', `${owner}:1`, '1']);
  const record = { application: 'billing', host: 'host-1', pid: 7 };
  for (const { port } of quorum) {
    const fields = Object.entries(record).flat().map(String);
    await ask(port, ['HSET', `holdfast_session:${owner}`, ...fields]);
    await using locks = new Locks(
      quorum.map((server) => new Redis(server.port, { lazyConnect: true })),
      {},
    );
    expect(await locks.inspect('a', { record: true })).toMatchObject({ owner: `${owner}:1`, record });
    await ask(port, ['DEL', `holdfast_session:${owner}`]);
    expect(await locks.inspect('a', { record: true })).not.toHaveProperty('record');
  }
  for (const { port } of quorum) await ask(port, ['DEL', 'a']);
});

test.each(['yes', 1, null])('record: %j is refused', async (record) => {
  await using locks = openLocks({});
  // The types forbid these; callers without types get an error all the same.
  const options = { record } as unknown as { record: boolean };
  await expect(locks.inspect('a', options)).rejects.toThrow(LockConfigError);
  await expect(recordsIn(locks, options)).rejects.toThrow(LockConfigError);
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
  const rules = [
    'reset',
    'on',
    '>pass',
    '~a',
    '~redisson_lock_token:{a}',
    '~holdfast_line:{a}',
    '&*',
    '+@all',
  ];
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
  ['true', true],
  ['too long', 'x'.repeat(1025)],
])('an application that is %s is refused at once', (_what, application) => {
  // The types forbid some of these; callers without types get an error all the same.
  expect(() => openLocks({ application } as LocksOptions)).toThrow(LockConfigError);
});
