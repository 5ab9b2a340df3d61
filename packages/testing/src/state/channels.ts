/** Subscriptions, and the messages that are sent to them. */

import { Push } from '../protocol/reply.ts';
import type { NodeConnection } from './connection.ts';
import { matchesGlob } from './glob.ts';

/** Ordinary channels, patterns of them, and the sharded channels of a cluster. */
export type ChannelKind = 'channel' | 'pattern' | 'shard';

const LISTS = { channel: 'channels', pattern: 'patterns', shard: 'shardChannels' } as const;

export function subscriptionsOf(connection: NodeConnection, kind: ChannelKind): Set<string> {
  return connection[LISTS[kind]];
}

export class Channels {
  readonly #listeners: Record<ChannelKind, Map<string, Set<NodeConnection>>> = {
    channel: new Map(),
    pattern: new Map(),
    shard: new Map(),
  };

  subscribe(connection: NodeConnection, kind: ChannelKind, channel: string): void {
    subscriptionsOf(connection, kind).add(channel);
    const listeners = this.#listeners[kind].get(channel);
    if (listeners === undefined) this.#listeners[kind].set(channel, new Set([connection]));
    else listeners.add(connection);
  }

  unsubscribe(connection: NodeConnection, kind: ChannelKind, channel: string): void {
    subscriptionsOf(connection, kind).delete(channel);
    const listeners = this.#listeners[kind].get(channel);
    listeners?.delete(connection);
    if (listeners?.size === 0) this.#listeners[kind].delete(channel);
  }

  /** Ends every subscription of a connection. */
  leave(connection: NodeConnection): void {
    for (const kind of ['channel', 'pattern', 'shard'] as const) {
      for (const channel of [...subscriptionsOf(connection, kind)])
        this.unsubscribe(connection, kind, channel);
    }
  }

  /** Sends a message and returns the number of receivers. A channel and a matching pattern both receive it. */
  publish(channel: string, message: string): number {
    let receivers = this.#send('channel', channel, new Push(['message', channel, message]));
    for (const pattern of this.#listeners.pattern.keys()) {
      if (!matchesGlob(pattern, channel)) continue;
      receivers += this.#send('pattern', pattern, new Push(['pmessage', pattern, channel, message]));
    }
    return receivers;
  }

  publishSharded(channel: string, message: string): number {
    return this.#send('shard', channel, new Push(['smessage', channel, message]));
  }

  /** Channels or patterns with at least one subscriber. */
  names(kind: ChannelKind, pattern: string): string[] {
    return [...this.#listeners[kind].keys()].filter((name) => matchesGlob(pattern, name));
  }

  count(kind: ChannelKind, name: string): number {
    return this.#listeners[kind].get(name)?.size ?? 0;
  }

  #send(kind: ChannelKind, name: string, message: Push): number {
    const listeners = this.#listeners[kind].get(name);
    if (listeners === undefined) return 0;
    for (const { peer } of listeners) peer.deliver(message);
    return listeners.size;
  }
}
