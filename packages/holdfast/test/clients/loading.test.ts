import { beforeAll, describe, expect, test } from 'vitest';
import { ask } from '../support/servers/raw-redis.ts';
import { useRedis } from '../support/servers/redis-server.ts';
import { FLAVOURS } from './flavours.ts';
import { AMPLE_MS, failureOf } from './harness.ts';
import { echo } from './scripts.ts';
import { using } from './using.ts';

describe('a server that is loading its data', () => {
  // Each key is so large as it stands in the file that the server looks up after every one of them.
  const args = ['--enable-debug-command', 'local', '--rdbcompression', 'no'];
  const redis = useRedis({ args, loadDelayUs: 20_000 });
  beforeAll(async () => {
    await ask(redis.port, ['DEBUG', 'POPULATE', '2000', 'key', '1100']);
    await ask(redis.port, ['SAVE']);
    await redis.restart();
  });

  test.each(FLAVOURS)('answers a call with $name by LOADING, which is a reply', async ({ make }) => {
    await using(make({ port: redis.port }), async (client) => {
      expect(failureOf(await client.run(echo('x'), AMPLE_MS))).toMatchObject({
        kind: 'reply',
        word: 'LOADING',
      });
    });
  });
});
