import { expect, test } from 'vitest';
import { type AdminHealthOutcome, adminHealth } from '../../src/scripts/generated.ts';
import { useDatabase } from './database.ts';

const database = useDatabase();

async function health(): Promise<AdminHealthOutcome> {
  return adminHealth.decode(await database.run(adminHealth.call()));
}

test('the settings of a server are told, a second time too', async () => {
  await database.redis.config('SET', 'maxmemory', '104857600', 'maxmemory-policy', 'noeviction');
  const found = {
    is: 'FOUND',
    version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    role: 'master',
    maxmemory: '104857600',
    policy: 'noeviction',
    uptimeS: expect.stringMatching(/^\d+$/),
    runId: expect.stringMatching(/^[0-9a-f]{40}$/),
    nowMs: expect.any(Number),
  };
  expect(await health()).toEqual(found);
  expect(await health()).toEqual(found);
  expect(await database.contents()).toEqual({});
});

test('a policy that may evict locks shows', async () => {
  await database.redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
  expect((await health()).policy).toBe('allkeys-lru');
  await database.redis.config('SET', 'maxmemory-policy', 'noeviction');
});

test('a server out of memory can be looked at', async () => {
  await database.whileOutOfMemory(async () => {
    expect((await health()).maxmemory).toBe('1');
  });
});
