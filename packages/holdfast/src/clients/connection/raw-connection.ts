/**
 * The two types that everything here is written against: a `RawConnection` is one connection of our own, and a
 * `Driver`, one for each kind of client, makes it from the caller's client. The adapters (`ioredis/`, `node-redis/`,
 * `glide/`, `sentinel/`) implement both.
 *
 * In this folder: what turns one connection of any Redis client into what the layers above need: calls with
 * deadlines, subscriptions that are restored, and counts of replicas, each written once. Only `clients/` imports from
 * here.
 */
import type { ScriptCall } from '../client.ts';

/** A channel of the whole server, or one of its shard in a cluster. */
export type ChannelMode = 'plain' | 'sharded';

/**
 * One connection of our own, on which the server has let us in. A lost connection is thrown away and another is made.
 * Its socket never keeps the process alive: whoever waits for an answer does so in a timer that does.
 */
export interface RawConnection {
  /** Hands the script to the client: by its hash, or by its text. The promise may settle at any time, or never. */
  send(call: ScriptCall, isByText: boolean): Promise<unknown>;
  /** Any command, answered in whatever shape the client gives. */
  command(args: readonly string[]): Promise<unknown>;
  subscribe(channel: string, mode: ChannelMode): Promise<unknown>;
  unsubscribe(channel: string, mode: ChannelMode): Promise<unknown>;
}

export interface RawConnectionEvents {
  /** The connection is of no more use, or will not come up. May come more than once, and after `dial` has rejected. */
  lost(cause: unknown): void;
  message(channel: string, text: string): void;
  /** The server has ended a subscription by itself: the slot of that channel is elsewhere now. */
  dropped(channel: string): void;
}

export interface Dialler {
  /**
   * Makes a connection like the caller's. Resolves when the server has let us in, in the right database; rejects with
   * why it has not. The connection ends with the signal, at once, whether it is up or not; whoever dials aborts the
   * signal in any case, also after a rejection.
   */
  dial(events: RawConnectionEvents, signal: AbortSignal): Promise<RawConnection>;
}

/** One kind of client, bound to the caller's instance. It sets nothing on the instance and listens to nothing of it. */
export interface Driver extends Dialler {
  /** Which client, where. No secrets. */
  readonly description: string;
  readonly keyPrefix: string;
  /** Whether a lost connection is made again without a word, so that nobody can count them. @default false */
  readonly reconnectsSilently?: boolean;
}

/** What our connections are called in `CLIENT LIST`. */
export const CONNECTION_NAME = 'holdfast';

/**
 * How long a connection may take to come up, handshake included. Callers have their own, shorter deadlines; this
 * one frees the socket of an attempt that gets no answer. Five seconds let a slow TLS handshake or a lost SYN
 * with its retransmissions (after 1 s and 3 s) succeed, so that callers with short deadlines, who come again,
 * find it up.
 */
export const CONNECT_MS_MAX = 5_000;

/**
 * After how long without traffic the kernel asks the peer whether it still lives. TCP keep-alive is what ends an idle
 * subscription to a host that is gone: nothing of ours is sent on it.
 */
export const KEEP_ALIVE_MS = 10_000;
