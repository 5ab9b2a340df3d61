/** What `ls` takes for a lock, and how little it reads to know. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import type { LockList } from '../src/locks/lock-reader.ts';
import type { LockView } from '../src/locks/lock-view.ts';
import { openLocks, recordKey, untilRecorded } from './support/holders.ts';
import { holdfast } from './support/holdfast.ts';
import { readAs } from './support/schema.ts';

const redis = useRedis();

async function listed(...args: readonly string[]): Promise<readonly LockView[]> {
  const { stdout } = await holdfast(['ls', ...args, '--json', '--redis', redis.url]);
  return readAs<LockList>('ls', stdout).locks;
}

/** What the server has sent, and how many scripts it was asked for. */
async function traffic(): Promise<{ bytes: number; scripts: number }> {
  const info = String(await ask(redis.port, ['INFO', 'everything']));
  const calls = [...info.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].map(([, count]) => Number(count));
  return {
    bytes: Number(/total_net_output_bytes:(\d+)/.exec(info)?.[1]),
    scripts: calls.reduce((sum, count) => sum + count, 0),
  };
}

test('what may be a mutex of another library, or a cached value, is shown only with --all', async () => {
  await openLocks(redis).mutex('m:1').acquire();
  await ask(redis.port, ['SET', 'm:2', randomUUID(), 'PX', '60000']);
  expect((await listed('m:')).map(({ name }) => name)).toEqual(['m:1']);
  expect((await listed('m:', '--all')).map(({ name }) => name)).toEqual(['m:1', 'm:2']);
});

test('neither large values are read, nor more of a record than is shown', async () => {
  const locks = openLocks(redis, 'billing');
  await locks.lock('big:lock').acquire();
  await untilRecorded(redis, locks.session);
  const fields = Array.from({ length: 30_000 }, (_, i) => [`field-${i}`, 'x'.repeat(40)]).flat();
  await ask(redis.port, ['HSET', recordKey(locks.session), ...fields]);
  for (let i = 0; i < 20; i += 1) {
    await ask(redis.port, ['SET', `big:string:${i}`, 'a'.repeat(1_000_000), 'PX', '60000']);
    await ask(redis.port, ['HSET', `big:hash:${i}`, 'page', 'a'.repeat(1_000_000)]);
    await ask(redis.port, ['SET', `big:uuid:${i}`, randomUUID(), 'PX', '60000']);
  }
  const before = await traffic();
  const found = await listed('big:');
  const after = await traffic();
  expect(found.map(({ name, application }) => [name, application])).toEqual([['big:lock', 'billing']]);
  // One lock, one record, the time, and the first words of a connection: nothing for each key.
  expect(after.bytes - before.bytes).toBeLessThan(100_000);
  expect(after.scripts - before.scripts).toBeLessThan(10);
});
