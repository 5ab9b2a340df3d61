/** The users of sentinels that docs/operate/acl.md describes can do what it says, and no less than all of it is needed. */
import { Redis } from 'ioredis';
import { createSentinel } from 'redis';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Locks, LockUnavailableError, type RedisClient } from '../../src/index.ts';
import { useLeakCheck } from '../support/leak-check.ts';
import { aclWords, NODE_REDIS_SENTINELS, SENTINELS } from '../support/servers/acl-rules.ts';
import { ask, asStrings } from '../support/servers/raw-redis.ts';
import { type RedisServer, startRedis, useRedis } from '../support/servers/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';

const server = useRedis();
let sentinel: RedisServer;
useLeakCheck();

const CLIENTS = {
  ioredis: {
    rights: aclWords(SENTINELS),
    make: (username: string): RedisClient => {
      const sentinels = [{ host: '127.0.0.1', port: sentinel.port }];
      const login = { sentinelUsername: username, sentinelPassword: 'pass' };
      return new Redis({ sentinels, name: 'main', ...login, lazyConnect: true });
    },
  },
  'node-redis': {
    rights: aclWords(SENTINELS, NODE_REDIS_SENTINELS),
    make: (username: string): RedisClient =>
      createSentinel({
        name: 'main',
        sentinelRootNodes: [{ host: '127.0.0.1', port: sentinel.port }],
        sentinelClientOptions: { username, password: 'pass' },
      }),
  },
};

beforeAll(async () => {
  sentinel = await startRedis({ sentinel: [`sentinel monitor main 127.0.0.1 ${server.port} 1`] });
});

async function sessionWith(client: keyof typeof CLIENTS, rights: readonly string[]): Promise<Locks> {
  const reply = await ask(sentinel.port, ['ACL', 'SETUSER', 'app', 'reset', 'on', '>pass', ...rights]);
  expect(reply).toBe('OK');
  await ask(sentinel.port, ['ACL', 'LOG', 'RESET']);
  // What is said must be the sentinel's word, also where the machine is slow to bring it.
  const locks = new Locks(CLIENTS[client].make('app'), { callTimeoutMs: 5_000 });
  onTestFinished(() => locks.close());
  return locks;
}

/** What the sentinel has refused since the session was made. */
async function refused(): Promise<string[]> {
  const log = await ask(sentinel.port, ['ACL', 'LOG']);
  if (!Array.isArray(log)) return [];
  return log.map((entry) => asStrings(entry)).map((entry) => entry[entry.indexOf('object') + 1] ?? '');
}

/** Whether one of our connections listens. */
async function isHeard(): Promise<boolean> {
  const list = String(await ask(sentinel.port, ['CLIENT', 'LIST'])).split('\n');
  return list.some((line) => line.includes(' name=holdfast ') && line.includes(' sub=1 '));
}

describe.each(['ioredis', 'node-redis'] as const)('with %s', (client) => {
  test('the rights on the page lead to the primary, and every failover is heard of', async () => {
    const locks = await sessionWith(client, CLIENTS[client].rights);
    const lease = await locks.lock('a').acquire();
    await waitFor(isHeard, { what: 'the sentinel to be listened to' });
    expect(await refused()).toEqual([]);
    await lease.release();
  });

  test('without the channel the primary is found, and nothing is heard', async () => {
    const rights = CLIENTS[client].rights.filter((right) => right !== '&+switch-master');
    const locks = await sessionWith(client, rights);
    const lease = await locks.lock('a').acquire();
    await waitFor(async () => (await refused()).includes('+switch-master'), { what: 'the refusal' });
    expect(await isHeard()).toBe(false);
    await lease.release();
  });

  test.each(['master', 'get-master-addr-by-name'])('without %s there is no primary', async (question) => {
    const rights = CLIENTS[client].rights.filter((right) => right !== `+sentinel|${question}`);
    const locks = await sessionWith(client, rights);
    const error = await locks
      .lock('a')
      .tryAcquire()
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(String(error)).toContain(`sentinel|${question}`);
  });
});
