/**
 * The `Client` that holdfast makes from the settings of the caller's Redis client: its own connections, opened when
 * needed. One connection runs scripts, one counts replicas, one hears plain channels and one the channels of a shard.
 */

import type { Random } from '../runtime/random.ts';
import type { TimerQueue } from '../runtime/timer-queue.ts';
import { CLIENT, type Client, type ScriptCall, type Wake } from './client.ts';
import type { CallResult } from './connection/call.ts';
import type { ListenResult } from './connection/channel.ts';
import { Connection } from './connection/connection.ts';
import type { Driver } from './connection/raw-connection.ts';
import { ReplicaCount } from './connection/replica-count.ts';
import { type SubscriptionEvents, Subscriptions } from './connection/subscriptions.ts';

export interface OwnedClientOptions {
  readonly timers: TimerQueue;
  readonly random: Random;
  /** Most calls in one request. A cluster node gets each call alone: two may be about different slots. @default 1 */
  readonly bundleMax?: number;
  /** Events of the subscriptions, plain and sharded. */
  readonly events?: SubscriptionEvents;
}

export interface OwnedClient extends Client {
  /** The same connections, for a slot that a cluster node is taking over: each script is sent behind ASKING. */
  readonly asking: Client;
  /** Only for a node of a cluster: no other server has shards. */
  listenToShard(channel: string, wake: Wake, timeoutMs: number): Promise<ListenResult>;
}

interface Connections {
  readonly scripts: Connection;
  readonly replicaCount: ReplicaCount;
  readonly channels: Subscriptions;
  readonly shardChannels: Subscriptions;
}

/** Nothing is connected yet. */
export function ownedClient(
  driver: Driver,
  { timers, random, bundleMax = 1, events = {} }: OwnedClientOptions,
): OwnedClient {
  const channels = new Subscriptions(driver, { timers, random, events });
  const shardChannels = new Subscriptions(driver, { timers, random, events, mode: 'sharded' });
  const lost = (): void => {
    for (const each of [channels, shardChannels]) each.scriptsLost();
  };
  const up = (): void => {
    for (const each of [channels, shardChannels]) each.scriptsUp();
  };
  return new ClientOnConnections(driver, {
    scripts: new Connection(driver, timers, { bundleMax, lost, up }),
    replicaCount: new ReplicaCount(driver, timers),
    channels,
    shardChannels,
  });
}

class ClientOnConnections implements OwnedClient {
  readonly [CLIENT]: true = true;
  readonly description: string;
  readonly keyPrefix: string;
  readonly reconnectsSilently: boolean;
  /**
   * Omitted for clients that reconnect silently: WAIT on a new connection reports every replica as caught up, although
   * the write was made on another one.
   */
  readonly acknowledge?: NonNullable<Client['acknowledge']>;
  readonly #driver: Driver;
  readonly #connections: Connections;
  readonly #isAsking: boolean;

  constructor(driver: Driver, connections: Connections, isAsking = false) {
    this.description = driver.description;
    this.keyPrefix = driver.keyPrefix;
    this.reconnectsSilently = driver.reconnectsSilently ?? false;
    this.#driver = driver;
    this.#connections = connections;
    this.#isAsking = isAsking;
    if (!this.reconnectsSilently) {
      this.acknowledge = (call, terms, timeoutMs) =>
        connections.replicaCount.acknowledge(this.#marked(call), terms, timeoutMs);
    }
  }

  get asking(): Client {
    return new ClientOnConnections(this.#driver, this.#connections, true);
  }

  get isConnected(): boolean {
    return this.#connections.scripts.isConnected;
  }

  get connections(): number {
    return this.#connections.scripts.connections;
  }

  run(call: ScriptCall, timeoutMs: number): Promise<CallResult> {
    return this.#connections.scripts.run(this.#marked(call), timeoutMs);
  }

  listen(channel: string, wake: Wake, timeoutMs: number): Promise<ListenResult> {
    return this.#connections.channels.listen(channel, wake, timeoutMs);
  }

  listenToShard(channel: string, wake: Wake, timeoutMs: number): Promise<ListenResult> {
    return this.#connections.shardChannels.listen(channel, wake, timeoutMs);
  }

  async close(): Promise<void> {
    const { scripts, replicaCount, channels, shardChannels } = this.#connections;
    for (const connection of [scripts, replicaCount, channels, shardChannels]) connection.close();
  }

  /** The call, to be sent behind ASKING if this is the `asking` client. */
  #marked(call: ScriptCall): ScriptCall {
    return this.#isAsking ? { ...call, isAsking: true } : call;
  }
}
