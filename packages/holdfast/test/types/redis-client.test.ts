/** The compiler is the test: `tsc` checks this file, and the runner only finds it. */
import type { GlideClient, GlideClusterClient } from '@valkey/valkey-glide';
import type { Redis as Ioredis6, Cluster as Ioredis6Cluster } from 'ioredis';
import type { Redis as Ioredis5, Cluster as Ioredis5Cluster } from 'ioredis-5';
import type { Redis as Iovalkey, Cluster as IovalkeyCluster } from 'iovalkey';
import type * as nodeRedis6 from 'redis';
import type * as nodeRedis5 from 'redis-5';
import { describe, expectTypeOf, test } from 'vitest';
import type { Client } from '../../src/clients/client.ts';
import type { RedisClient } from '../../src/clients/redis-client.ts';

type NodeRedis6 = ReturnType<typeof nodeRedis6.createClient>;
type NodeRedis5 = ReturnType<typeof nodeRedis5.createClient>;

describe('the type of an accepted client', () => {
  test('takes a Redis of ioredis 5.4 and 6', () => {
    expectTypeOf<Ioredis6>().toExtend<RedisClient>();
    expectTypeOf<Ioredis6<'resp3'>>().toExtend<RedisClient>();
    expectTypeOf<Ioredis5>().toExtend<RedisClient>();
  });

  test('takes a client of node-redis 5 and 6', () => {
    expectTypeOf<NodeRedis6>().toExtend<RedisClient>();
    expectTypeOf<nodeRedis6.RedisClientType>().toExtend<RedisClient>();
    expectTypeOf<NodeRedis5>().toExtend<RedisClient>();
    expectTypeOf<nodeRedis5.RedisClientType>().toExtend<RedisClient>();
  });

  test('takes a sentinel of node-redis 6', () => {
    expectTypeOf<ReturnType<typeof nodeRedis6.createSentinel>>().toExtend<RedisClient>();
  });

  test('takes a Redis of iovalkey and a client of GLIDE', () => {
    expectTypeOf<Iovalkey>().toExtend<RedisClient>();
    expectTypeOf<GlideClient>().toExtend<RedisClient>();
  });

  test('takes an implementation of the seam', () => {
    expectTypeOf<Client>().toExtend<RedisClient>();
  });

  test('does not take other objects', () => {
    expectTypeOf<object>().not.toExtend<RedisClient>();
    expectTypeOf<Record<string, never>>().not.toExtend<RedisClient>();
    expectTypeOf<{ get(key: string): string; set(key: string): void }>().not.toExtend<RedisClient>();
    expectTypeOf<string>().not.toExtend<RedisClient>();
    expectTypeOf<undefined>().not.toExtend<RedisClient>();
    expectTypeOf<Promise<NodeRedis6>>().not.toExtend<RedisClient>();
    expectTypeOf<Ioredis6[]>().not.toExtend<RedisClient>();
  });

  test('takes a cluster of either', () => {
    expectTypeOf<Ioredis6Cluster>().toExtend<RedisClient>();
    expectTypeOf<Ioredis5Cluster>().toExtend<RedisClient>();
    expectTypeOf<IovalkeyCluster>().toExtend<RedisClient>();
    expectTypeOf<ReturnType<typeof nodeRedis6.createCluster>>().toExtend<RedisClient>();
    expectTypeOf<ReturnType<typeof nodeRedis5.createCluster>>().toExtend<RedisClient>();
  });

  test('does not take pools, pipelines, clusters of GLIDE, and sentinels of node-redis 5', () => {
    expectTypeOf<GlideClusterClient>().not.toExtend<RedisClient>();
    expectTypeOf<ReturnType<Ioredis6['pipeline']>>().not.toExtend<RedisClient>();
    expectTypeOf<ReturnType<typeof nodeRedis6.createClientPool>>().not.toExtend<RedisClient>();
    expectTypeOf<ReturnType<typeof nodeRedis5.createSentinel>>().not.toExtend<RedisClient>();
  });
});
