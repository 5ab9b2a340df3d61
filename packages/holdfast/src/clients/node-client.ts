/** One node of a cluster, as the seam has it: scripts to it, plain channels and the channels of its shard. */

import type { Random } from '../runtime/random.ts';
import type { TimerQueue } from '../runtime/timer-queue.ts';
import {
  type Acknowledged,
  type CallFailure,
  CLIENT,
  type Client,
  type ReplicaTerms,
  type ScriptCall,
  type Wake,
} from './client.ts';
import type { CallResult } from './connection/call.ts';
import type { ListenResult } from './connection/channel.ts';
import { Connection } from './connection/connection.ts';
import type { Driver, NodeDriver, Wire, WireEvents } from './connection/raw-connection.ts';
import { Acknowledgements } from './connection/replica-count.ts';
import { type SubscriptionEvents, Subscriptions } from './connection/subscriptions.ts';

export interface NodeClient extends Client {
  acknowledge(call: ScriptCall, terms: ReplicaTerms, timeoutMs: number): Promise<Acknowledged | CallFailure>;
  /** The same connection, for a slot that the node is taking over. */
  readonly asking: Client;
  listenToShard(channel: string, wake: Wake, timeoutMs: number): Promise<ListenResult>;
}

/** Nothing is connected yet. */
export function nodeClient(
  driver: NodeDriver,
  timers: TimerQueue,
  random: Random,
  events: SubscriptionEvents,
): NodeClient {
  return new OneNode(driver, timers, random, events);
}

class OneNode implements NodeClient {
  readonly [CLIENT]: true = true;
  readonly description: string;
  readonly keyPrefix: string;
  readonly asking: Client;
  readonly #connection: Connection;
  readonly #acknowledgements: Acknowledgements;
  readonly #plain: Subscriptions;
  readonly #shard: Subscriptions;

  constructor(driver: NodeDriver, timers: TimerQueue, random: Random, events: SubscriptionEvents) {
    this.description = driver.description;
    this.keyPrefix = driver.keyPrefix;
    // Calls of one moment may be about different slots, so none travels with another.
    this.#connection = new Connection(driver, timers, 1);
    this.#acknowledgements = new Acknowledgements(driver, timers);
    this.#plain = new Subscriptions(driver, timers, random, events);
    this.#shard = new Subscriptions(new ShardDriver(driver), timers, random, events);
    this.asking = new AskingClient(this);
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

  acknowledge(call: ScriptCall, terms: ReplicaTerms, timeoutMs: number): Promise<Acknowledged | CallFailure> {
    return this.#acknowledgements.acknowledge(call, terms, timeoutMs);
  }

  listen(channel: string, wake: Wake, timeoutMs: number): Promise<ListenResult> {
    return this.#plain.listen(channel, wake, timeoutMs);
  }

  listenToShard(channel: string, wake: Wake, timeoutMs: number): Promise<ListenResult> {
    return this.#shard.listen(channel, wake, timeoutMs);
  }

  async close(): Promise<void> {
    this.#connection.close();
    this.#acknowledgements.close();
    this.#plain.close();
    this.#shard.close();
  }
}

class AskingClient implements Client {
  readonly [CLIENT]: true = true;
  readonly #node: NodeClient;

  constructor(node: NodeClient) {
    this.#node = node;
  }

  get description(): string {
    return this.#node.description;
  }

  get keyPrefix(): string {
    return this.#node.keyPrefix;
  }

  get isConnected(): boolean {
    return this.#node.isConnected;
  }

  get connections(): number {
    return this.#node.connections;
  }

  run(call: ScriptCall, timeoutMs: number): Promise<CallResult> {
    return this.#node.run({ ...call, isAsking: true }, timeoutMs);
  }

  acknowledge(call: ScriptCall, terms: ReplicaTerms, timeoutMs: number): Promise<Acknowledged | CallFailure> {
    return this.#node.acknowledge({ ...call, isAsking: true }, terms, timeoutMs);
  }

  listen(channel: string, wake: Wake, timeoutMs: number): Promise<ListenResult> {
    return this.#node.listen(channel, wake, timeoutMs);
  }

  async close(): Promise<void> {}
}

/** Makes connections whose channels are those of the shard. */
class ShardDriver implements Driver {
  readonly #driver: NodeDriver;
  readonly description: string;
  readonly keyPrefix: string;

  constructor(driver: NodeDriver) {
    this.#driver = driver;
    this.description = driver.description;
    this.keyPrefix = driver.keyPrefix;
  }

  dial(events: WireEvents): Wire {
    const wire = this.#driver.dial(events);
    return {
      connect: () => wire.connect(),
      send: (call, isByText, isBusy) => wire.send(call, isByText, isBusy),
      command: (args) => wire.command(args),
      subscribe: (channel) => wire.subscribeShard(channel),
      unsubscribe: (channel) => wire.unsubscribeShard(channel),
      hold: (isHeld) => wire.hold(isHeld),
      drop: () => wire.drop(),
    };
  }
}
