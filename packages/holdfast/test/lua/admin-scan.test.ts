import { expect, test } from 'vitest';
import { type AdminScanInput, type AdminScanOutcome, adminScan } from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';

const database = useDatabase();

async function scan(changes: Partial<AdminScanInput> = {}): Promise<AdminScanOutcome> {
  const input = { cursor: '0', pattern: '*', count: 10, ...changes };
  return adminScan.decode(await database.run(adminScan.call(input)));
}

async function fill(count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, i) => `lock:${i}`).sort();
  await database.redis.mset(...names.flatMap((name) => [name, 'x']));
  return names;
}

test('an empty server is walked in one step', async () => {
  expect(await scan()).toEqual({ is: 'FOUND', cursor: '0', keys: [] });
});

test('a walk meets every key', async () => {
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
  await database.redis.set('other', 'x');
  const { keys } = await scan({ pattern: 'lock:*', count: 100 });
  expect([...keys].sort()).toEqual(['lock:0', 'lock:1', 'lock:2']);
});

test('the same step twice tells the same and changes nothing', async () => {
  await fill(20);
  const contents = await database.contents();
  expect(await scan({ count: 5 })).toEqual(await scan({ count: 5 }));
  expect(await database.contents()).toEqual(contents);
});

test('a page of thousands of keys comes whole', async () => {
  const names = await fill(5_000);
  const { keys, cursor } = await scan({ count: 10_000 });
  expect(cursor).toBe('0');
  expect([...keys].sort()).toEqual(names);
});

test('a server out of memory can be walked', async () => {
  const names = await fill(3);
  await database.whileOutOfMemory(async () => {
    const { keys } = await scan({ count: 100 });
    expect([...keys].sort()).toEqual(names);
  });
});
