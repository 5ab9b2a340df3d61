/** The clients that the suite runs on: the lowest and the highest supported version of each. */
import { Redis as Ioredis6, type RedisOptions } from 'ioredis';
import { Redis as Ioredis5 } from 'ioredis-5';
import { createClient as createNodeRedis6 } from 'redis';
import { createClient as createNodeRedis5 } from 'redis-5';
import type { RedisClient } from '../../src/clients/adapt.ts';

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

export interface Flavour {
  readonly name: string;
  readonly library: 'ioredis' | 'node-redis';
  /** Whether the client knows a `keyPrefix`. */
  readonly hasKeyPrefix: boolean;
  /** Not connected yet. */
  make(options: CallerOptions): Caller;
}

interface Emitter {
  eventNames(): (string | symbol)[];
  listenerCount(event: string | symbol): number;
}

function listenersOf(client: Emitter): Record<string, number> {
  return Object.fromEntries(client.eventNames().map((event) => [String(event), client.listenerCount(event)]));
}

/** The one option on which the type of a client depends. */
type OwnOptions = Omit<RedisOptions, 'replyMapping'>;

/** And gone at once when the test ends it: by default it keeps a timer for two seconds. */
const LAZY = { lazyConnect: true, disconnectTimeout: 0 };

function ioredis(name: string, Redis: typeof Ioredis6): Flavour {
  const make = (options: CallerOptions): Caller => {
    const own: OwnOptions = {
      ...LAZY,
      port: options.port,
      host: '127.0.0.1',
      ...defined({ db: options.database, username: options.username, password: options.password }),
      ...defined({ path: options.path, keyPrefix: options.keyPrefix }),
      ...(options.ca === undefined ? {} : { host: 'localhost', tls: { ca: options.ca } }),
      ...options.ioredis,
    };
    const client = options.url === undefined ? new Redis(own) : new Redis(options.url, LAZY);
    client.on('error', () => {});
    return {
      client,
      get footprint() {
        return { listeners: listenersOf(client), options: { ...client.options }, status: client.status };
      },
      connect: () => client.connect(),
      isReady: () => client.status === 'ready',
      command: (verb = '', ...args) => client.call(verb, ...args),
      select: (database) => client.select(database),
      end: async () => client.disconnect(),
    };
  };
  return { name, library: 'ioredis', hasKeyPrefix: true, make };
}

/** What the two versions have in common; their full types are unrelated. */
interface NodeRedis extends Emitter {
  readonly options?: object | undefined;
  readonly isOpen: boolean;
  readonly isReady: boolean;
  on(event: 'error', listener: () => void): unknown;
  connect(): Promise<unknown>;
  sendCommand(args: readonly string[]): Promise<unknown>;
  select(database: number): Promise<unknown>;
  destroy(): void;
}

function nodeRedis(
  name: string,
  create: (options: object) => NodeRedis & RedisClient,
  hasKeyPrefix: boolean,
): Flavour {
  const make = (options: CallerOptions): Caller => {
    const tcp = { port: options.port, host: '127.0.0.1' };
    const tls = { port: options.port, host: 'localhost', tls: true, ca: options.ca };
    const path = { path: options.path };
    const socket = options.path !== undefined ? path : options.ca !== undefined ? tls : tcp;
    const own = {
      socket,
      ...defined({ database: options.database, username: options.username, password: options.password }),
      ...defined({ keyPrefix: options.keyPrefix }),
      ...options.nodeRedis,
    };
    const client = create(options.url === undefined ? own : { url: options.url });
    client.on('error', () => {});
    return {
      client,
      get footprint() {
        const { isOpen, isReady } = client;
        return { listeners: listenersOf(client), options: { ...client.options }, isOpen, isReady };
      },
      connect: async () => void (await client.connect()),
      isReady: () => client.isReady,
      command: (...args) => client.sendCommand(args),
      select: (database) => client.select(database),
      end: async () => {
        if (client.isOpen) client.destroy();
      },
    };
  };
  return { name, library: 'node-redis', hasKeyPrefix, make };
}

/** Without the members that are undefined: to these clients an option that is there counts. */
function defined(options: Record<string, unknown>): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

export const FLAVOURS: readonly Flavour[] = [
  ioredis('ioredis 6', Ioredis6),
  // The types of the two versions differ in ways that do not matter here.
  ioredis('ioredis 5.4', Ioredis5 as unknown as typeof Ioredis6),
  nodeRedis('node-redis 6', (options) => createNodeRedis6(options), true),
  nodeRedis('node-redis 5', (options) => createNodeRedis5(options), false),
];

export function flavourNamed(name: string): Flavour {
  const flavour = FLAVOURS.find((candidate) => candidate.name === name);
  if (flavour === undefined) throw new Error(`no client is called ${name}`);
  return flavour;
}
