/** The client that a caller hands in, as the suite handles it whichever it is. */
import type { RedisClient } from '../../src/clients/redis-client.ts';
import type { Extent } from '../support/extent.ts';

/** What a test may ask of the caller's client, whichever it is. */
export interface CallerOptions {
  readonly port: number;
  readonly database?: number | undefined;
  readonly keyPrefix?: string | Buffer | undefined;
  readonly username?: string;
  readonly password?: string;
  /** A unix socket, instead of the port. */
  readonly path?: string;
  /** Everything in one address, instead of the port and the others. */
  readonly url?: string;
  /** The certificate of the authority, for a port that speaks TLS. */
  readonly ca?: string;
  /** Options of that client alone, over ours. */
  readonly ioredis?: object;
  readonly nodeRedis?: object;
  readonly glide?: object;
}

/** The caller's client, with what a test needs to use it as its owner would. */
export interface Caller {
  readonly client: RedisClient;
  /** How many listeners it has for each event, and whether it is connected: what we must not change. */
  readonly footprint: object;
  connect(): Promise<void>;
  isReady(): boolean;
  command(...args: string[]): Promise<unknown>;
  select(database: number): Promise<unknown>;
  end(): Promise<void>;
}

export interface Flavour extends Extent {
  readonly name: string;
  readonly library: 'ioredis' | 'node-redis' | 'GLIDE';
  /** Whether the client knows a `keyPrefix`. */
  readonly hasKeyPrefix: boolean;
  /** Whether it can be told a unix socket, or everything in one address. */
  readonly hasPath: boolean;
  readonly hasUrl: boolean;
  /** Whether it tells why there is no connection. @default true */
  readonly saysWhy?: boolean;
  /** The rules that it cannot keep, by their titles, with the reason. */
  readonly declines?: Readonly<Record<string, string>>;
  /** Not connected yet. */
  make(options: CallerOptions): Caller | Promise<Caller>;
}

/** A client that is there without waiting. */
export interface PromptFlavour extends Flavour {
  make(options: CallerOptions): Caller;
}

export interface Emitter {
  eventNames(): (string | symbol)[];
  listenerCount(event: string | symbol): number;
}

export function listenersOf(client: Emitter): Record<string, number> {
  return Object.fromEntries(client.eventNames().map((event) => [String(event), client.listenerCount(event)]));
}

/** Without the members that are undefined: to these clients an option that is there counts. */
export function defined(options: Record<string, unknown>): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
