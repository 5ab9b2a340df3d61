/**
 * What the kinds of Redis client have in common, once their manners are taken off: a `Wire` is one
 * connection, a `Driver` knows how to make one from the caller's client. Everything above is written once.
 */
import type { ScriptCall } from '../client.ts';

/** Where a script can be sent. */
export interface Sender {
  /**
   * Hands the script to the client: by its hash, or by its text. The promise may settle at any time, or never.
   * When the line is busy, others are on their way, and a burst may travel as one packet; a lone call never waits.
   */
  send(call: ScriptCall, isByText: boolean, isBusy: boolean): Promise<unknown>;
}

/** One connection of our own. It connects once; a lost one is thrown away and another is made. */
export interface Wire extends Sender {
  /** Resolves when the server has let us in, in the right database. Rejects with why not. */
  connect(): Promise<void>;
  /** Any command, answered in whatever shape the client gives. */
  command(args: readonly string[]): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  /** Whether the socket keeps the process alive. It does at first. */
  hold(isHeld: boolean): void;
  /** Ends it at once, in whatever state it is, and never throws. */
  drop(): void;
}

export interface WireEvents {
  /** The connection is of no more use. May come more than once, and after `connect` has rejected. */
  lost(cause: unknown): void;
  message(channel: string, text: string): void;
  /** The server has ended a subscription by itself: the slot of that channel is elsewhere now. */
  dropped?(channel: string): void;
}

/** One connection to a node of a cluster: it can be asked about the cluster, and hears the channels of its shard. */
export interface NodeWire extends Wire {
  subscribeShard(channel: string): Promise<unknown>;
  unsubscribeShard(channel: string): Promise<unknown>;
}

/** One kind of client, bound to the caller's instance. It sets nothing on it and listens to nothing of it. */
export interface Driver {
  /** Which client, where. No secrets. */
  readonly description: string;
  readonly keyPrefix: string;
  /** Whether a lost connection is made again without a word, so that nobody can count them. @default false */
  readonly reconnectsSilently?: boolean;
  /** Makes a connection like the caller's. Nothing is sent before `connect`. */
  dial(events: WireEvents): Wire;
}

export interface NodeDriver extends Driver {
  dial(events: WireEvents): NodeWire;
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
 * After how long without traffic the kernel asks the peer whether it still lives. It is what ends an idle
 * subscription to a host that is gone: nothing of ours is sent on it.
 */
export const KEEP_ALIVE_MS = 10_000;
