import { Redis as Ioredis6, Cluster as Ioredis6Cluster } from 'ioredis';
import { Redis as Ioredis5, Cluster as Ioredis5Cluster } from 'ioredis-5';
import * as nodeRedis6 from 'redis';
import * as nodeRedis5 from 'redis-5';
import { describe, expect, onTestFinished, test } from 'vitest';
import { adaptClient } from '../../src/clients/adapt.ts';
import { CLIENT, type Client } from '../../src/clients/client.ts';
import { LockConfigError } from '../../src/errors.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { TimerQueue } from '../../src/runtime/timer-queue.ts';
import { FakeClock } from '../support/fake-clock.ts';
import type { CallerOptions } from './caller.ts';
import { FLAVOURS } from './flavours.ts';
import { IOREDIS } from './ioredis-flavours.ts';
import { NODE_REDIS } from './node-redis-flavours.ts';
import { echo } from './scripts.ts';

const LAZY = { lazyConnect: true };
const CLUSTER = { rootNodes: [{ url: 'redis://127.0.0.1:1' }] };
const SENTINEL = { name: 'primary', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] };

function adapt(client: unknown): Client {
  return adaptClient(client, { timers: new TimerQueue(new FakeClock()), random: systemRandom });
}

describe('a client handed in', () => {
  test('that is the seam already is asked as it is, behind a guard against what it throws', async () => {
    const seam: Client = {
      [CLIENT]: true,
      description: 'of my own making',
      keyPrefix: '',
      isConnected: true,
      connections: 1,
      run: async () => null,
      listen: async () => () => {},
      close: async () => {},
    };
    const client = adapt(seam);
    expect(client.description).toBe('of my own making');
    expect(client.acknowledge).toBeUndefined();
    expect(await client.run(echo('x'), 1_000)).toBe(null);
    seam.run = () => {
      throw new Error('against the rules');
    };
    expect(await client.run(echo('x'), 1_000)).toMatchObject({
      kind: 'unknown',
      text: 'the client threw: against the rules',
    });
  });

  test.each(FLAVOURS)(
    'of $name is adapted, and described by its library and address',
    async ({ make, library, hasPath, hasUrl }) => {
      const described = async (options: CallerOptions): Promise<string> => {
        const caller = await make(options);
        onTestFinished(() => caller.end());
        return adapt(caller.client).description;
      };
      expect(await described({ port: 4321 })).toBe(`${library} 127.0.0.1:4321`);
      const path = '/run/redis.sock';
      if (hasPath) expect(await described({ port: 4321, path })).toBe(`${library} ${path}`);
      const url = 'redis://ann:secret@127.0.0.1:4321/2';
      if (hasUrl) expect(await described({ port: 1, url })).toBe(`${library} 127.0.0.1:4321`);
    },
  );

  test('of ioredis that finds its server by sentinels is described by the name of the primary', () => {
    const client = new Ioredis6({ ...LAZY, sentinels: [{ host: '127.0.0.1', port: 1 }], name: 'primary' });
    expect(adapt(client).description).toBe('ioredis by sentinel primary');
  });

  test('that knows no sentinel is refused', () => {
    const nobody = nodeRedis6.createSentinel({ ...SENTINEL, sentinelRootNodes: [] });
    expect(() => adapt(nobody)).toThrow(LockConfigError);
    expect(() => adapt(nobody)).toThrow('expected at least one sentinel for primary, got none');
  });

  test('that is a sentinel of node-redis 6 is described by the name of the primary, and tells its key prefix', () => {
    const client = adapt(nodeRedis6.createSentinel({ ...SENTINEL, keyPrefix: 'app:' }));
    expect(client.description).toBe('node-redis by sentinel primary');
    expect(client.keyPrefix).toBe('app:');
  });

  test.each([...IOREDIS, ...NODE_REDIS].filter(({ hasKeyPrefix }) => hasKeyPrefix))(
    'of $name tells its key prefix, unless that is a Buffer, which is refused',
    ({ make }) => {
      expect(adapt(make({ port: 1, keyPrefix: 'app:' }).client).keyPrefix).toBe('app:');
      const buffered = make({ port: 1, keyPrefix: Buffer.from('app:') }).client;
      expect(() => adapt(buffered)).toThrow(
        /whose keyPrefix is a string, got one whose keyPrefix is a Buffer/,
      );
    },
  );

  test('of node-redis may be one with command options of its own', () => {
    const client = nodeRedis6.createClient().withTypeMapping({});
    expect(adapt(client).description).toBe('node-redis localhost:6379');
  });

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['a string', 'redis://127.0.0.1:6379'],
    ['a number', 6379],
    ['a function', Ioredis6],
    ['an array', [new Ioredis6(LAZY)]],
    ['an object without methods', {}],
    ['an object with the methods get, set', { get: () => null, set: () => null }],
    ['an object with the methods get, set, has, delete, clear and 4 more', new Map()],
    ['a promise; await it first', Promise.resolve()],
    ['an ioredis Cluster; expected clients of single servers here', new Ioredis6Cluster([{ port: 1 }], LAZY)],
    ['an ioredis Cluster; expected clients of single servers here', new Ioredis5Cluster([{ port: 1 }], LAZY)],
    ['an ioredis pipeline', new Ioredis6(LAZY).pipeline()],
    ['an ioredis pipeline', new Ioredis5(LAZY).multi()],
    ['a node-redis cluster; expected clients of single servers here', nodeRedis6.createCluster(CLUSTER)],
    ['a node-redis cluster; expected clients of single servers here', nodeRedis5.createCluster(CLUSTER)],
    [
      'a node-redis 5 sentinel, which tells nothing of its options; use node-redis 6',
      nodeRedis5.createSentinel(SENTINEL),
    ],
    ['a node-redis pool', nodeRedis6.createClientPool()],
    ['a node-redis multi', nodeRedis6.createClient().multi()],
    ['a node-redis multi', nodeRedis5.createClient().multi()],
  ])('that is %s is refused with these words', (words, client) => {
    expect(() => adapt(client)).toThrow(LockConfigError);
    expect(() => adapt(client)).toThrow(
      `expected a client of ioredis, node-redis, iovalkey or GLIDE, got ${words}`,
    );
  });
});
