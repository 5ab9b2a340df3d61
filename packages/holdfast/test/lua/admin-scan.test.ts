import { randomBytes, randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { systemRandom } from '../../src/runtime/random.ts';
import { type AdminScanInput, type AdminScanOutcome, adminScan } from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';

const database = useDatabase();

const INPUT: AdminScanInput = { cursor: '0', pattern: '*', count: 10, keyBytesMax: 1_024, wantsAll: 0 };

async function scan(changes: Partial<AdminScanInput> = {}): Promise<AdminScanOutcome> {
  return adminScan.decode(await database.run(adminScan.call({ ...INPUT, ...changes })));
}

/** The keys that a walk over everything tells, by name. */
async function told(changes: Partial<AdminScanInput> = {}): Promise<string[]> {
  const { keys, cursor } = await scan({ count: 10_000, ...changes });
  expect(cursor).toBe('0');
  return [...keys].sort();
}

async function fill(count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, i) => `lock:${i}`).sort();
  const batch = database.redis.pipeline();
  for (const name of names) batch.hset(name, `${randomUUID()}:1`, '1').pexpire(name, 60_000);
  await batch.exec();
  return names;
}

async function cache(name: string, value: string | Buffer): Promise<void> {
  await database.redis.set(name, value, 'PX', 60_000);
}

test('an empty server is walked in one step', async () => {
  expect(await scan()).toEqual({ is: 'FOUND', cursor: '0', keys: [] });
});

test('a walk meets every lock', async () => {
  const names = await fill(100);
  const found = new Set<string>();
  let cursor = '0';
  do {
    const step = await scan({ cursor });
    for (const name of step.keys) found.add(name);
    cursor = step.cursor;
  } while (cursor !== '0');
  expect([...found].sort()).toEqual(names);
});

test('a step looks at about as many keys as asked', async () => {
  await fill(100);
  const step = await scan({ count: 5 });
  expect(step.keys.length).toBeLessThan(50);
  expect(step.cursor).not.toBe('0');
});

test('only names that match are told', async () => {
  await fill(3);
  await database.redis.rename('lock:2', 'other');
  expect(await told({ pattern: 'lock:*' })).toEqual(['lock:0', 'lock:1']);
});

test('a key that is too long for a lock is not told', async () => {
  await fill(2);
  await database.redis.rename('lock:1', 'é'.repeat(8));
  expect(await told({ keyBytesMax: 16 })).toEqual(['lock:0', 'é'.repeat(8)]);
  expect(await told({ keyBytesMax: 15 })).toEqual(['lock:0']);
});

test('the same step twice tells the same and changes nothing', async () => {
  await fill(20);
  const contents = await database.contents();
  expect(await scan({ count: 5 })).toEqual(await scan({ count: 5 }));
  expect(await database.contents()).toEqual(contents);
});

test('a page of thousands of locks comes whole', async () => {
  const names = await fill(5_000);
  expect(await told()).toEqual(names);
});

test('a server out of memory can be walked', async () => {
  const names = await fill(3);
  await database.whileOutOfMemory(async () => {
    expect(await told()).toEqual(names);
  });
});

test('a lock that has lost its expiry is told', async () => {
  await fill(1);
  await database.redis.persist('lock:0');
  expect(await told()).toEqual(['lock:0']);
});

test('a mutex of ours is told', async () => {
  await cache('mutex', systemRandom.token());
  expect(await told()).toEqual(['mutex']);
});

test('data is not told, even when all is asked for', async () => {
  await cache('text', 'hello');
  await cache('short', 'a'.repeat(21));
  await cache('sentence', 'some cached words that are no token at all');
  await cache('almost', `${'z'.repeat(32)}:holdfast`);
  await cache('long', 'a'.repeat(65));
  await cache('huge', 'a'.repeat(1_000_000));
  await database.redis.set('for ever', systemRandom.token());
  await database.redis.set('uuid for ever', randomUUID());
  await database.redis.hset('hash', 'city', 'Turku');
  await database.redis.hset('several', { [`${randomUUID()}:1`]: '1', mode: 'read' });
  await database.redis.rpush('list', randomUUID());
  expect(await told()).toEqual([]);
  expect(await told({ wantsAll: 1 })).toEqual([]);
});

test.each<[what: string, value: string]>([
  ['a UUID', randomUUID()],
  ['an MD5 digest', randomBytes(16).toString('hex')],
  ['a SHA-256 digest', randomBytes(32).toString('hex')],
  ['16 bytes in base64', randomBytes(16).toString('base64')],
  ['20 bytes in base64url', randomBytes(20).toString('base64url')],
])('a cached value that is %s is told only when all is asked for', async (_what, value) => {
  await cache('value', value);
  expect(await told()).toEqual([]);
  expect(await told({ wantsAll: 1 })).toEqual(['value']);
});

test('of what cannot be a lock only the type and the length are read', async () => {
  for (let i = 0; i < 20; i += 1) await cache(`cached:${i}`, Buffer.alloc(100_000, 'a'));
  await database.redis.hset('wide', Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [i, 'x'])));
  await database.redis.config('RESETSTAT');
  expect(await told()).toEqual([]);
  const stats = await database.redis.info('commandstats');
  const called = [...stats.matchAll(/cmdstat_(\w+):calls=(\d+)/g)].map(
    ([, name, calls]) => `${name} ${calls}`,
  );
  const reads = called.filter((call) => !/^(info|config|evalsha|script)/.test(call)).sort();
  expect(reads).toEqual(['hlen 1', 'scan 1', 'strlen 20', 'type 21']);
});

test('the words of an operator are no mutex, whatever they say', async () => {
  for (const words of [`${'0'.repeat(32)}:holdfast`, 'INC-2024-000123456789-takeaway', 'x'.repeat(33)]) {
    await cache(`holdfast_revoked:{order}:${randomUUID()}:1`, `revoked ${words}`);
  }
  expect(await told({ wantsAll: 1 })).toEqual([]);
});
