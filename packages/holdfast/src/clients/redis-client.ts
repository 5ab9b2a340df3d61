/** What a caller may hand to us, in types: of each client as much as tells it from everything else. */
import type { Client } from './client.ts';

/** What tells a `Redis` of ioredis from everything else, in types. */
export interface IoredisClient {
  readonly status: string;
  readonly mode: string;
  readonly isCluster: boolean;
  readonly options: object;
  duplicate(override?: object): object;
  disconnect(reconnect?: boolean): void;
}

/** What tells a `Cluster` of ioredis from everything else, in types. */
export interface IoredisClusterClient {
  readonly status: string;
  readonly isCluster: boolean;
  readonly options: object;
  nodes(role?: 'all' | 'master' | 'slave'): readonly object[];
  duplicate(overrideStartupNodes?: never[], overrideOptions?: object): object;
}

/** What tells a client of node-redis from everything else, in types. */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  readonly isReady: boolean;
  readonly isWatching: boolean;
  duplicate(override?: object): object;
  sendCommand(args: readonly string[], options?: object): Promise<unknown>;
  ref(): void;
  unref(): void;
}

/** What tells a cluster of node-redis from everything else, in types. */
export interface NodeRedisClusterClient {
  readonly isOpen: boolean;
  readonly slots: readonly object[];
  readonly masters: readonly object[];
  readonly nodeByAddress: { keys(): Iterable<string> };
}

/** What tells a sentinel of node-redis from everything else, in types. */
export interface NodeRedisSentinel {
  readonly isOpen: boolean;
  readonly isReady: boolean;
  duplicate(override?: object): object;
  getSentinelNode(): unknown;
  getMasterNode(): unknown;
}

/** What tells a `GlideClient` from everything else, in types. */
export interface GlideClient {
  customCommand(args: string[], options?: object): Promise<unknown>;
  subscribeLazy(channels: Set<string>, options?: object): Promise<unknown>;
  updateConnectionPassword(password: string | null, immediateAuth?: boolean): Promise<unknown>;
  /** A cluster's takes something else. */
  scan(cursor: string, options?: object): Promise<unknown>;
  close(reason?: string): void;
}

/**
 * What `new Locks(...)` takes: a `Redis` or `Cluster` of ioredis or iovalkey, a client, sentinel or cluster of node-redis,
 * a `GlideClient` of GLIDE, or a client of your own making.
 */
export type RedisClient =
  | IoredisClient
  | IoredisClusterClient
  | NodeRedisClient
  | NodeRedisClusterClient
  | NodeRedisSentinel
  | GlideClient
  | Client;
