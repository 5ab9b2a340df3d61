import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { LeakWatch } from '../support/leak-check.ts';
import { startChild, useChildren } from '../support/processes/child.ts';
import { RawConnection } from '../support/servers/raw-connection.ts';
import { ask, askAll } from '../support/servers/raw-redis.ts';
import { useRedis } from '../support/servers/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';

const redis = useRedis();

async function leaksOf(body: () => Promise<void>, watch = new LeakWatch([redis])): Promise<string[]> {
  await watch.begin();
  try {
    await body();
    return await watch.leaks();
  } finally {
    await watch.end();
  }
}

describe('a leak check', () => {
  test('finds nothing after a test that cleans up', async () => {
    const leaks = await leaksOf(async () => {
      using connection = new RawConnection(redis.port);
      await connection.ask('SET', 'k', 'v');
      await connection.ask('DEL', 'k');
      await connection.ask('SUBSCRIBE', 'c');
    });
    expect(leaks).toEqual([]);
  });

  test('finds keys in every database, but not the counters of fences', async () => {
    const leaks = await leaksOf(async () => {
      await askAll(redis.port, [
        ['SET', 'redisson_lock_token:{a}', '1'],
        ['SET', 'k', 'v'],
        ['SELECT', '5'],
        ['SET', 'far', 'v'],
      ]);
    });
    expect(leaks).toEqual([`a key on port ${redis.port}: k`, `a key on port ${redis.port}: far`]);
  });

  test('empties the server when it ends', async () => {
    await leaksOf(async () => void (await ask(redis.port, ['SET', 'k', 'v'])));
    expect(await ask(redis.port, ['DBSIZE'])).toBe(0);
  });

  test('finds subscriptions and the sockets that hold them', async () => {
    const connection = new RawConnection(redis.port);
    const leaks = await leaksOf(async () => {
      await connection.ask('SUBSCRIBE', 'c');
      await connection.ask('SSUBSCRIBE', 's');
    });
    expect(leaks).toContain(`a subscription on port ${redis.port}: c`);
    expect(leaks).toContain(`a subscription on port ${redis.port}: s`);
    // Told once: the next test is not blamed for it.
    expect(await leaksOf(async () => {})).toEqual([]);
    connection.close();
  });

  test('finds open sockets, listening ones and running timers, unless told not to look', async () => {
    const server = createServer();
    const connections: RawConnection[] = [];
    let timer: NodeJS.Timeout | undefined;
    const open = async (): Promise<void> => {
      connections.push(new RawConnection(redis.port));
      timer = setTimeout(() => {}, 60_000);
    };
    const leaks = await leaksOf(async () => {
      await open();
      await once(server.listen(0, '127.0.0.1'), 'listening');
    });
    clearTimeout(timer);
    expect(leaks.join()).toMatch(/1 more TCPSocketWrap/);
    expect(leaks.join()).toMatch(/1 more TCPServerWrap/);
    expect(leaks.join()).toMatch(/a running timer, armed at .*leak-check\.test\.ts/);
    expect(await leaksOf(open, new LeakWatch([redis], { checksHandles: false }))).toEqual([]);
    clearTimeout(timer);
    for (const connection of connections) connection.close();
    server.close();
  });

  test('waits a little for what is about to go', async () => {
    const leaks = await leaksOf(async () => {
      const connection = new RawConnection(redis.port);
      await connection.ask('SET', 'k', 'v', 'PX', '50');
      setTimeout(() => connection.close(), 50);
    });
    expect(leaks).toEqual([]);
  });

  test('forgives timers that have fired, were cleared, or let the process end', async () => {
    const leaks = await leaksOf(async () => {
      setTimeout(() => {}, 1);
      clearTimeout(setTimeout(() => {}, 60_000));
      clearInterval(setInterval(() => {}, 60_000));
      setTimeout(() => {}, 60_000).unref();
    });
    expect(leaks).toEqual([]);
  });

  test('gives the timers of the runtime back when it ends', async () => {
    const { setTimeout: before } = globalThis;
    const during = await new Promise((resolve) => {
      void leaksOf(async () => resolve(globalThis.setTimeout));
    });
    await waitFor(() => globalThis.setTimeout === before, { what: 'the original to be back' });
    expect(during).not.toBe(before);
  });

  test('wakes a frozen server and passes over a killed one', async () => {
    expect(await leaksOf(async () => redis.freeze())).toEqual([]);
    expect(await ask(redis.port, ['PING'])).toBe('PONG');
    expect(await leaksOf(() => redis.kill())).toEqual([]);
  });
});

describe('an error nobody handles', { timeout: 150_000 }, () => {
  useChildren();

  test.each([
    ['rejection', 'an error nobody handled: Error: nobody waits for me'],
    ['exception', 'an error nobody handled: Error: nobody catches me'],
    ['nothing', undefined],
  ])('is found: %s', async (kind, expected) => {
    const child = startChild<{ leaks: string[] }>('test/support-tests/fixtures/careless.ts', [kind]);
    expect(await child.next()).toEqual({ leaks: expected === undefined ? [] : [expected] });
    await child.exited;
  });
});
