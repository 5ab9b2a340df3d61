import { once } from 'node:events';
import type { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { ask, askAll } from '../support/servers/raw-redis.ts';
import { useRedis } from '../support/servers/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Caller } from './caller.ts';
import { AMPLE_MS } from './harness.ts';
import { IOREDIS } from './ioredis-flavours.ts';
import { NODE_REDIS } from './node-redis-flavours.ts';
import { append } from './scripts.ts';
import { using } from './using.ts';

async function listIn(port: number, database: string): Promise<unknown> {
  const [, list] = await askAll(port, [
    ['SELECT', database],
    ['LRANGE', 'list', '0', '-1'],
  ]);
  return list;
}

/** Behind its own SELECT: ended before that is answered, the caller's client leaves a rejection that nobody handles. */
async function reconnected(caller: Caller): Promise<void> {
  await caller.command('PING');
}

describe('a database that the caller selects after it has made its client', () => {
  const redis = useRedis();

  test.each(IOREDIS)('is where the scripts of $name run', async ({ make }) => {
    await ask(redis.port, ['FLUSHALL']);
    const caller = make({ port: redis.port });
    await caller.connect();
    await using(caller, async (client) => {
      await caller.select(3);
      await client.run(append('x'), AMPLE_MS);
      // Not moved by a later choice, neither now nor by a reconnect: locks must stay where they are.
      await caller.select(4);
      await client.run(append('y'), AMPLE_MS);
      await ask(redis.port, ['CLIENT', 'KILL', 'TYPE', 'normal']);
      await waitFor(() => !client.isConnected);
      await client.run(append('z'), AMPLE_MS);
      await reconnected(caller);
    });
    expect(await listIn(redis.port, '3')).toEqual(['x', 'y', 'z']);
  });

  test.each(IOREDIS)('is where the scripts of $name run while it reconnects', async ({ make }) => {
    await ask(redis.port, ['FLUSHALL']);
    const caller = make({ port: redis.port });
    await caller.connect();
    await caller.select(3);
    // From here until it is ready its own record says 0, and the right one waits aside.
    const reconnecting = once(caller.client as Redis, 'connecting');
    await ask(redis.port, ['CLIENT', 'KILL', 'TYPE', 'normal']);
    await reconnecting;
    expect(caller.isReady()).toBe(false);
    await using(caller, async (client) => {
      await client.run(append('x'), AMPLE_MS);
      await reconnected(caller);
    });
    expect(await listIn(redis.port, '3')).toEqual(['x']);
  });

  test.each(NODE_REDIS)(
    'is not known to us with $name, which tells only what it was made with',
    async ({ make }) => {
      await ask(redis.port, ['FLUSHALL']);
      const caller = make({ port: redis.port, database: 2 });
      await caller.connect();
      await caller.select(3);
      await using(caller, async (client) => void (await client.run(append('x'), AMPLE_MS)));
      expect(await listIn(redis.port, '2')).toEqual(['x']);
    },
  );
});
