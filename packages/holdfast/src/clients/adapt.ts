/**
 * Recognises the Redis client that the caller passes to `new Locks`, and makes a `Client` of it.
 *
 * In this folder: the seam to a Redis client (`client.ts`), the client that holdfast owns, and the choice of an
 * adapter. `connection/`, `sentinel/` and the adapters serve only this layer. The layers above import the files
 * beside this one and `cluster/` from here.
 */

import { LockConfigError } from '../errors.ts';
import type { TimerQueue } from '../runtime/timer-queue.ts';
import { CLIENT, type Client } from './client.ts';
import type { ClusterDriver } from './cluster/cluster-driver.ts';
import type { Driver } from './connection/raw-connection.ts';
import { driveGlide } from './glide/glide.ts';
import { guardClient } from './guarded-client.ts';
import { driveIoredisCluster } from './ioredis/cluster.ts';
import { driveIoredis } from './ioredis/sentinels.ts';
import { driveNodeRedisCluster } from './node-redis/cluster.ts';
import { driveNodeRedis } from './node-redis/node-redis.ts';
import { driveNodeRedisSentinel } from './node-redis/sentinels.ts';
import { type OwnedClientOptions, ownedClient } from './owned-client.ts';

/** Nothing is connected yet, and nothing is ever set on the client or listened to on it. */
export function adaptClient(client: unknown, options: OwnedClientOptions): Client {
  return isClient(client) ? guardClient(client) : ownedClient(driverOf(client, options.timers), options);
}

/** The way to the nodes of a cluster, or null when the client is no cluster. Nothing is connected yet. */
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

/** What the object is, if it only resembles a client and is passed in by mistake; otherwise null. */
function whyNot(client: object): string | null {
  const has = (member: string, value?: unknown): boolean =>
    member in client && (value === undefined || Reflect.get(client, member) === value);
  if (has('isCluster', true)) return 'an ioredis Cluster; expected clients of single servers here';
  if (has('isPipeline', true)) return 'an ioredis pipeline';
  if (has('execAsPipeline')) return 'a node-redis multi';
  if (has('idleClients')) return 'a node-redis pool';
  if (has('nodeByAddress')) return 'a node-redis cluster; expected clients of single servers here';
  if (has('getSentinelNode') && !hasMethods(client, ['duplicate', '_execute']))
    return 'a node-redis 5 sentinel, which tells nothing of its options; use node-redis 6';
  if (has('ssubscribeLazy')) return 'a GLIDE cluster client; a cluster is not supported';
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
