/** The cluster clients that people have: the lowest and the highest supported version of each. */
import { Cluster as Ioredis6Cluster } from 'ioredis';
import { Cluster as Ioredis5Cluster } from 'ioredis-5';
import { createCluster as createNodeRedis6Cluster } from 'redis';
import { createCluster as createNodeRedis5Cluster } from 'redis-5';
import type { RedisClient } from '../../src/index.ts';

export interface ClusterCaller {
  readonly client: RedisClient;
  end(): void | Promise<void>;
}

export interface ClusterCallerOptions {
  readonly username?: string;
  readonly password?: string;
  readonly keyPrefix?: string;
}

export interface ClusterFlavour {
  readonly name: string;
  readonly hasKeyPrefix: boolean;
  /** Connected, and quiet about its own troubles. */
  make(ports: readonly number[], options?: ClusterCallerOptions): Promise<ClusterCaller>;
}

/** What the two versions have in common; their full types are unrelated. */
interface NodeRedisCluster {
  on(event: string, listener: (error: unknown) => void): unknown;
  connect(): Promise<unknown>;
  destroy(): void;
}

function ioredis(name: string, Cluster: typeof Ioredis6Cluster): ClusterFlavour {
  return {
    name,
    hasKeyPrefix: true,
    async make(ports, { keyPrefix, ...login } = {}) {
      const nodes = ports.map((port) => ({ host: '127.0.0.1', port }));
      const redisOptions = { ...login, disconnectTimeout: 0 };
      const client = new Cluster(nodes, { redisOptions, ...(keyPrefix === undefined ? {} : { keyPrefix }) });
      client.on('error', () => {});
      return { client, end: () => client.disconnect() };
    },
  };
}

function nodeRedis(
  name: string,
  create: (options: { rootNodes: { url: string }[]; defaults: object }) => NodeRedisCluster & RedisClient,
  hasKeyPrefix: boolean,
): ClusterFlavour {
  return {
    name,
    hasKeyPrefix,
    async make(ports, { keyPrefix, ...defaults } = {}) {
      const rootNodes = ports.map((port) => ({ url: `redis://127.0.0.1:${port}` }));
      const prefix = keyPrefix === undefined ? {} : { keyPrefix };
      const client = create({ rootNodes, defaults, ...prefix });
      for (const event of ['error', 'node-error']) client.on(event, () => {});
      await client.connect();
      return { client, end: () => client.destroy() };
    },
  };
}

export const CLUSTER_FLAVOURS: readonly ClusterFlavour[] = [
  ioredis('ioredis 6', Ioredis6Cluster),
  // The types of the two versions differ in ways that do not matter here.
  ioredis('ioredis 5.4', Ioredis5Cluster as unknown as typeof Ioredis6Cluster),
  nodeRedis('node-redis 6', (options) => createNodeRedis6Cluster(options), true),
  nodeRedis('node-redis 5', (options) => createNodeRedis5Cluster(options), false),
];

export const [IOREDIS_6] = CLUSTER_FLAVOURS as [ClusterFlavour];
