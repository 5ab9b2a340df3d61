/** The cluster clients that people have: the lowest and the highest supported version of each. */
import { Cluster as Ioredis6Cluster } from 'ioredis';
import { Cluster as Ioredis5Cluster } from 'ioredis-5';
import { Cluster as IovalkeyCluster } from 'iovalkey';
import { createCluster as createNodeRedis6Cluster } from 'redis';
import { createCluster as createNodeRedis5Cluster } from 'redis-5';
import type { RedisClient } from '../../src/index.ts';
import { type Extent, rowsOf } from '../support/extent.ts';

export interface ClusterCaller {
  readonly client: RedisClient;
  /** A command of the application's own. */
  ping(): Promise<unknown>;
  end(): void | Promise<void>;
}

export interface ClusterCallerOptions {
  readonly username?: string;
  readonly password?: string;
  readonly keyPrefix?: string;
}

export interface ClusterFlavour extends Extent {
  readonly name: string;
  readonly hasKeyPrefix: boolean;
  /** Connected, and quiet about its own troubles. */
  make(ports: readonly number[], options?: ClusterCallerOptions): Promise<ClusterCaller>;
}

/** What the two versions have in common; their full types are unrelated. */
interface NodeRedisCluster {
  on(event: string, listener: (error: unknown) => void): unknown;
  connect(): Promise<unknown>;
  sendCommand(firstKey: undefined, isReadonly: boolean, args: string[]): Promise<unknown>;
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
      return { client, ping: () => client.ping(), end: () => client.disconnect() };
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
      return {
        client,
        ping: () => client.sendCommand(undefined, true, ['PING']),
        end: () => client.destroy(),
      };
    },
  };
}

/**
 * Making a client builds a class of all its commands, which costs version 5 a good part of a second and everything
 * else in this process too. So those that overlap share one: nothing of a session is left on its caller's client.
 */
function shared(flavour: ClusterFlavour): ClusterFlavour {
  const made = new Map<string, { readonly caller: Promise<ClusterCaller>; users: number }>();
  return {
    ...flavour,
    async make(ports, options = {}) {
      const key = JSON.stringify([ports, options]);
      const entry = made.get(key) ?? { caller: flavour.make(ports, options), users: 0 };
      made.set(key, entry);
      entry.users += 1;
      const caller = await entry.caller;
      const end = async (): Promise<void> => {
        entry.users -= 1;
        if (entry.users > 0) return;
        made.delete(key);
        await caller.end();
      };
      return { ...caller, end };
    },
  };
}

/** Every one of them, for what each must have been seen to do. */
export const CLUSTER_FLAVOURS: readonly ClusterFlavour[] = [
  ioredis('ioredis 6', Ioredis6Cluster),
  // The types of the versions and of its sibling differ in ways that do not matter here.
  { ...ioredis('ioredis 5.4', Ioredis5Cluster as unknown as typeof Ioredis6Cluster), isMatrix: true },
  { ...ioredis('iovalkey 0.4', IovalkeyCluster as unknown as typeof Ioredis6Cluster), isMatrix: true },
  nodeRedis('node-redis 6', (options) => createNodeRedis6Cluster(options), true),
  {
    ...shared(nodeRedis('node-redis 5', (options) => createNodeRedis5Cluster(options), false)),
    isMatrix: true,
  },
];

/** Those of this run, for what the clients have little part in. */
export const SOME_CLUSTER_FLAVOURS: readonly ClusterFlavour[] = rowsOf(CLUSTER_FLAVOURS);

export const [IOREDIS_6] = CLUSTER_FLAVOURS as [ClusterFlavour];
