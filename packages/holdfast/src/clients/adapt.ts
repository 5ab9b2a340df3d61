/** From what the caller has to the seam: which client is this, and can it be used? */

import { LockConfigError } from '../errors.ts';
import type { Random } from '../runtime/random.ts';
import type { TimerQueue } from '../runtime/timer-queue.ts';
import { CLIENT, type Client, type ScriptCall, type Wake } from './client.ts';
import type { ClusterDriver } from './cluster/cluster-driver.ts';
import type { CallResult } from './connection/call.ts';
import type { ListenResult } from './connection/channel.ts';
import { Connection } from './connection/connection.ts';
import type { Driver } from './connection/raw-connection.ts';
import { Acknowledgements } from './connection/replica-count.ts';
import { Subscriptions } from './connection/subscriptions.ts';
import { driveGlide } from './glide/glide.ts';
import { guardClient } from './guarded-client.ts';
import { driveIoredisCluster } from './ioredis/cluster.ts';
import { driveIoredis } from './ioredis/sentinels.ts';
import { driveNodeRedisCluster } from './node-redis/cluster.ts';
import { driveNodeRedis } from './node-redis/node-redis.ts';
import { driveNodeRedisSentinel } from './node-redis/sentinels.ts';

export interface AdaptOptions {
  readonly timers: TimerQueue;
  readonly random: Random;
  /** How many calls may travel as one. @default 1 */
  readonly bundleMax?: number;
}

class AdaptedClient implements Client {
  readonly [CLIENT] = true as const;
  readonly description: string;
  readonly keyPrefix: string;
  readonly reconnectsSilently: boolean;
  readonly #connection: Connection;
  readonly #subscriptions: Subscriptions;
  /**
   * Not for one that reconnects without a word: its count may be on another connection than the write, and a server
   * says of what a connection has not written that every replica has it.
   */
  readonly acknowledge?: NonNullable<Client['acknowledge']>;
  readonly #acknowledgements: Acknowledgements;

  constructor(driver: Driver, { timers, random, bundleMax = 1 }: AdaptOptions) {
    this.description = driver.description;
    this.keyPrefix = driver.keyPrefix;
    this.reconnectsSilently = driver.reconnectsSilently ?? false;
    this.#connection = new Connection(driver, timers, bundleMax);
    this.#subscriptions = new Subscriptions(driver, timers, random);
    this.#acknowledgements = new Acknowledgements(driver, timers);
    if (!this.reconnectsSilently) {
      this.acknowledge = (call, terms, timeoutMs) =>
        this.#acknowledgements.acknowledge(call, terms, timeoutMs);
    }
  }

  get isConnected(): boolean {
    return this.#connection.isConnected;
  }

  get connections(): number {
    return this.#connection.connections;
  }

  run(call: ScriptCall, timeoutMs: number): Promise<CallResult> {
    return this.#connection.run(call, timeoutMs);
  }

  listen(channel: string, wake: Wake, timeoutMs: number): Promise<ListenResult> {
    return this.#subscriptions.listen(channel, wake, timeoutMs);
  }

  async close(): Promise<void> {
    this.#connection.close();
    this.#subscriptions.close();
    this.#acknowledgements.close();
  }
}

/** Nothing is connected yet, and nothing is ever set on the client or listened to on it. */
export function adaptClient(client: unknown, options: AdaptOptions): Client {
  return isClient(client)
    ? guardClient(client)
    : new AdaptedClient(driverOf(client, options.timers), options);
}

/** The way to the nodes of a cluster, or null when it is no cluster. Nothing is connected yet. */
export function adaptCluster(client: unknown): ClusterDriver | null {
  if (typeof client !== 'object' || client === null) return null;
  if (Reflect.get(client, 'isCluster') === true && hasMethods(client, ['nodes', 'duplicate'])) {
    return driveIoredisCluster(client);
  }
  if ('nodeByAddress' in client && hasMethods(client, ['nodeClient'])) return driveNodeRedisCluster(client);
  return null;
}

function isClient(client: unknown): client is Client {
  return typeof client === 'object' && client !== null && CLIENT in client && client[CLIENT] === true;
}

function driverOf(client: unknown, timers: TimerQueue): Driver {
  if (typeof client === 'object' && client !== null && whyNot(client) === null) {
    if (hasMethods(client, ['evalsha', 'duplicate', 'connect', 'disconnect', 'subscribe']))
      return driveIoredis(client, timers);
    if (hasMethods(client, ['evalSha', 'duplicate', 'connect', 'destroy', 'sendCommand', 'unref'])) {
      return driveNodeRedis(client);
    }
    if (hasMethods(client, ['getSentinelNode', 'duplicate', '_execute', 'connect', 'destroy'])) {
      return driveNodeRedisSentinel(client, timers);
    }
    if (hasMethods(client, ['customCommand', 'subscribeLazy', 'close']) && 'config' in client) {
      return driveGlide(client);
    }
  }
  throw new LockConfigError(
    `expected a client of ioredis, node-redis, iovalkey or GLIDE, got ${describe(client)}`,
  );
}

/** What it is instead, for the relatives of the clients that people hand in by mistake. */
function whyNot(client: object): string | null {
  const kind = (member: string, value?: unknown): boolean =>
    member in client && (value === undefined || Reflect.get(client, member) === value);
  if (kind('isCluster', true)) return 'an ioredis Cluster; expected clients of single servers here';
  if (kind('isPipeline', true)) return 'an ioredis pipeline';
  if (kind('execAsPipeline')) return 'a node-redis multi';
  if (kind('idleClients')) return 'a node-redis pool';
  if (kind('nodeByAddress')) return 'a node-redis cluster; expected clients of single servers here';
  if (kind('getSentinelNode') && !hasMethods(client, ['duplicate', '_execute']))
    return 'a node-redis 5 sentinel, which tells nothing of its options; use node-redis 6';
  if (kind('ssubscribeLazy')) return 'a GLIDE cluster client; a cluster is not supported';
  if (hasMethods(client, ['then'])) return 'a promise; await it first';
  return null;
}

const METHODS_NAMED_MAX = 5;

function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'an array';
  if (typeof value !== 'object') return `a ${typeof value}`;
  const relative = whyNot(value);
  if (relative !== null) return relative;
  const methods = methodsOf(value);
  if (methods.length === 0) return 'an object without methods';
  const named = methods.slice(0, METHODS_NAMED_MAX).join(', ');
  const rest = methods.length - METHODS_NAMED_MAX;
  return `an object with the methods ${named}${rest > 0 ? ` and ${rest} more` : ''}`;
}

function methodsOf(value: object): string[] {
  const names = new Set<string>();
  for (
    let part: object | null = value;
    part !== null && part !== Object.prototype;
    part = Object.getPrototypeOf(part)
  ) {
    for (const name of Object.getOwnPropertyNames(part)) if (name !== 'constructor') names.add(name);
  }
  return [...names].filter((name) => hasMethods(value, [name]));
}

function hasMethods(client: object, names: readonly string[]): boolean {
  return names.every((name) => typeof Reflect.get(client, name) === 'function');
}
