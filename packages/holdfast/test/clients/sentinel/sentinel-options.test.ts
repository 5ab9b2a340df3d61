/** What a client says about sentinels beyond where they are: how to get in, and where their servers are seen from here. */
import { Redis } from 'ioredis';
import { createSentinel } from 'redis';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { adaptClient } from '../../../src/clients/adapt.ts';
import type { Client } from '../../../src/clients/client.ts';
import type { RedisClient } from '../../../src/clients/redis-client.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { TimerQueue } from '../../../src/runtime/timer-queue.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { startProxy } from '../../support/proxies/fault-proxy.ts';
import { type RedisServer, startRedis, stopAllRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { AMPLE_MS, failureOf } from '../harness.ts';
import { echo } from '../scripts.ts';

const LOGIN = { username: 'default', password: 'of the server' };
const SENTINEL_PASSWORD = 'of the sentinel';

let server: RedisServer;
let sentinel: RedisServer;
beforeAll(async () => {
  server = await startRedis({ args: ['--requirepass', LOGIN.password] });
  const lines = [
    `sentinel monitor primary 127.0.0.1 ${server.port} 1`,
    `sentinel auth-pass primary "${LOGIN.password}"`,
    `requirepass "${SENTINEL_PASSWORD}"`,
  ];
  sentinel = await startRedis({ sentinel: lines });
});
afterAll(stopAllRedis);
useLeakCheck();

interface Choices {
  readonly sentinelPassword: string;
  /** Where the port of the server is seen from here, when it is elsewhere. */
  readonly seenAt?: number;
}

function ioredis({ sentinelPassword, seenAt }: Choices): RedisClient {
  const sentinels = [{ host: '127.0.0.1', port: sentinel.port }];
  const natMap = { [`127.0.0.1:${server.port}`]: { host: '127.0.0.1', port: seenAt ?? server.port } };
  return new Redis({ sentinels, name: 'primary', sentinelPassword, ...LOGIN, natMap, lazyConnect: true });
}

function nodeRedis({ sentinelPassword, seenAt }: Choices): RedisClient {
  return createSentinel({
    name: 'primary',
    sentinelRootNodes: [{ host: '127.0.0.1', port: sentinel.port }],
    sentinelClientOptions: { password: sentinelPassword },
    nodeClientOptions: LOGIN,
    nodeAddressMap: (address) => {
      const [host = '', port] = address.split(':');
      return { host, port: Number(port) === server.port ? (seenAt ?? server.port) : Number(port) };
    },
  });
}

const clients: Client[] = [];
afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())));

function adapt(client: RedisClient): Client {
  const adapted = adaptClient(client, {
    timers: new TimerQueue(systemClock),
    random: systemRandom,
  });
  clients.push(adapted);
  return adapted;
}

/** On a machine that is busy a first connection takes longer than it may: then it is asked for again. */
const PATIENT = { limitMs: 60_000 };

describe.each([
  ['ioredis 6', ioredis],
  ['node-redis 6', nodeRedis],
])('%s', (_, make) => {
  test('logs in to the sentinels as it says, and to their server as it says', async () => {
    const client = adapt(make({ sentinelPassword: SENTINEL_PASSWORD }));
    await waitFor(async () => (await client.run(echo('in'), AMPLE_MS)) === 'in', PATIENT);
  });

  test('that may not ask the sentinels is told so', async () => {
    const client = adapt(make({ sentinelPassword: 'wrong' }));
    const refusal = /^no sentinel names the primary primary: .*(WRONGPASS|NOAUTH)/;
    await waitFor(async () => {
      const failure = failureOf(await client.run(echo('out'), AMPLE_MS));
      expect(failure.kind).toBe('unreachable');
      return refusal.test(failure.text);
    }, PATIENT);
  });

  test('goes where it sees what the sentinels name', async () => {
    const proxy = await startProxy(server.port);
    const client = adapt(make({ sentinelPassword: SENTINEL_PASSWORD, seenAt: proxy.port }));
    await waitFor(async () => (await client.run(echo('there'), AMPLE_MS)) === 'there', PATIENT);
    expect(proxy.connectionsMade).toBeGreaterThan(0);
    await client.close();
    await proxy.stop();
  });
});
