/**
 * In this folder: the adapter of ioredis 5.4 to 6, iovalkey and clients of the same shape: one server (this file),
 * sentinels and clusters. Only `clients/adapt.ts` imports from here.
 */
import { LockConfigError } from '../../errors.ts';
import type { ScriptCall } from '../client.ts';
import {
  type ChannelMode,
  CONNECT_MS_MAX,
  CONNECTION_NAME,
  type Driver,
  KEEP_ALIVE_MS,
  type RawConnection,
  type RawConnectionEvents,
} from '../connection/raw-connection.ts';
import { ignoreRefusal } from '../connection/reply-errors.ts';
import { argumentsOf, type Command, commandMaker, type MakeCommand } from './command.ts';
import { ShardChannels } from './shard-channels.ts';

/** The socket of a client. */
interface Stream {
  unref(): unknown;
  cork(): void;
  uncork(): void;
}

type Subscribed = false | { channels(verb: 'ssubscribe'): readonly string[] };

/** What we use of a client. */
export interface Ioredis {
  readonly options: Readonly<Record<string, unknown>>;
  readonly condition?: { readonly select?: unknown; readonly subscriber?: Subscribed } | null;
  readonly prevCondition?: { readonly select?: unknown } | null;
  readonly stream?: Stream;
  /** Commands that wait for an answer. Not documented; without it nothing is corked. */
  readonly commandQueue?: { readonly length: number };
  duplicate(override: object): Ioredis;
  connect(): Promise<unknown>;
  disconnect(): void;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  on(event: 'connect' | 'close' | 'moved', listener: () => void): unknown;
  on(event: 'message' | 'smessage', listener: (channel: string, text: string) => void): unknown;
  call(verb: string, args: readonly string[]): Promise<unknown>;
  asking(): Promise<unknown>;
  sendCommand(command: Command): Promise<unknown>;
  evalsha(...args: readonly string[]): Promise<unknown>;
  eval(...args: readonly string[]): Promise<unknown>;
  select(db: number): Promise<unknown>;
  client(verb: string, value: string): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  ssubscribe(channel: string): Promise<unknown>;
  sunsubscribe(channel: string): Promise<unknown>;
}

/** From this many requests in flight on, what one tick writes goes out in one system call. A lone call never waits. */
const CORK_FROM = 2;

/**
 * How our connections differ from the caller's. Address, credentials, TLS and protocol stay; whatever
 * decides when a command is sent, sent again, queued, delayed, prefixed or converted is ours.
 */
const OPTIONS: Readonly<Record<string, unknown>> = {
  lazyConnect: true,
  enableOfflineQueue: false,
  retryStrategy: null,
  reconnectOnError: null,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  enableAutoPipelining: false,
  // INFO at each connect, and a client that hides LOADING: a reply is more use to us.
  enableReadyCheck: false,
  commandTimeout: undefined,
  socketTimeout: undefined,
  blockingTimeout: undefined,
  connectTimeout: CONNECT_MS_MAX,
  // A disconnect of ours waits for nobody; by default it holds a timer for two seconds when the server is frozen.
  disconnectTimeout: 0,
  keepAlive: KEEP_ALIVE_MS,
  noDelay: true,
  keyPrefix: '',
  stringNumbers: false,
  replyMapping: 'legacy',
  showFriendlyErrorStack: false,
  scripts: undefined,
  himportFieldsets: undefined,
  monitor: false,
  readOnly: false,
  // The database and the name of the connection are set by us, after the handshake: see `greet`.
  db: 0,
  connectionName: null,
  // The search for the primary is ours: see `sentinel/`.
  sentinels: null,
};

/** The caller must have made sure that the client is one of ioredis: see `adapt.ts`. */
export function asIoredis(client: object): Ioredis {
  // The one border: what `adapt.ts` checked stands for the rest, and the conformance suite for that.
  return client as Ioredis;
}

class IoredisConnection implements RawConnection {
  readonly #client: Ioredis;
  readonly #makeCommand: MakeCommand | null;
  readonly #shardChannels: ShardChannels;
  #isCorked = false;

  constructor(client: Ioredis, events: RawConnectionEvents) {
    this.#client = client;
    this.#makeCommand = commandMaker(client);
    client.on('error', events.lost);
    client.on('close', () => events.lost(new Error('Connection is closed.')));
    client.on('message', events.message);
    client.on('smessage', events.message);
    this.#shardChannels = new ShardChannels(client, events.dropped);
  }

  /**
   * ioredis calls itself ready too early for us. Version 5 does not wait for the answer to AUTH, so a script
   * can run as the default user although the password was wrong; and no version minds a failed SELECT, so a
   * script can run in database 0. We send our own SELECT, and wait for its answer and for that of a command
   * behind AUTH.
   */
  async greet(db: number): Promise<void> {
    const named = this.#client.client('SETNAME', CONNECTION_NAME).catch(ignoreRefusal);
    const selected = db === 0 ? undefined : this.#client.select(db);
    await Promise.all([named, selected]);
  }

  send(call: ScriptCall, isByText: boolean): Promise<unknown> {
    const { commandQueue } = this.#client;
    if (!this.#isCorked && commandQueue !== undefined && commandQueue.length >= CORK_FROM) this.#cork();
    // Right before the script: the permission is good for the next command only. Without it the script is refused.
    if (call.isAsking === true) this.#client.asking().catch(() => {});
    if (this.#makeCommand === null) return send(this.#client, call, isByText);
    return this.#client.sendCommand(this.#makeCommand(call, isByText));
  }

  command([verb = '', ...args]: readonly string[]): Promise<unknown> {
    return this.#client.call(verb, args);
  }

  async subscribe(channel: string, mode: ChannelMode): Promise<void> {
    if (mode === 'sharded') await this.#shardChannels.subscribe(channel);
    else await this.#client.subscribe(channel);
  }

  async unsubscribe(channel: string, mode: ChannelMode): Promise<void> {
    if (mode === 'sharded') await this.#shardChannels.unsubscribe(channel);
    else await this.#client.unsubscribe(channel);
  }

  /**
   * ioredis makes a system call for each command. Corked, what this tick writes goes out at its end, in one: that saves
   * 20 to 30 % of the processor time of 64 callers.
   */
  #cork(): void {
    const { stream } = this.#client;
    if (stream === undefined) return;
    this.#isCorked = true;
    stream.cork();
    process.nextTick(() => {
      this.#isCorked = false;
      stream.uncork();
    });
  }
}

/** A connection like the caller's, with these options over its own. */
export async function dialIoredis(
  caller: Ioredis,
  options: object,
  db: number,
  events: RawConnectionEvents,
  signal: AbortSignal,
): Promise<RawConnection> {
  const client = caller.duplicate({ ...OPTIONS, ...options });
  signal.addEventListener('abort', () => client.disconnect(), { once: true });
  const connection = new IoredisConnection(client, events);
  const unref = (): void => void client.stream?.unref();
  client.on('connect', unref);
  const connecting = client.connect();
  // ioredis makes its socket in a moment, and a socket whose SYN is lost would hold the process until it is given up.
  setImmediate(unref);
  await connecting;
  await connection.greet(db);
  return connection;
}

/** The caller's client, its database and its prefix: what both ways of finding the server have in common. */
export class IoredisDriver implements Driver {
  readonly #client: Ioredis;
  readonly description: string;
  readonly keyPrefix: string;
  #db: number | undefined;

  constructor(client: Ioredis) {
    this.#client = client;
    this.description = `ioredis ${addressOf(client.options)}`;
    this.keyPrefix = keyPrefixOf(client.options);
  }

  /** `address` are the options that say where, when the server is not where the caller's client is. */
  dial(events: RawConnectionEvents, signal: AbortSignal, address: object = {}): Promise<RawConnection> {
    // Once for all connections: locks must not move when the caller selects another database later on.
    this.#db ??= selectedDb(this.#client);
    return dialIoredis(this.#client, address, this.#db, events, signal);
  }
}

function send(client: Ioredis, call: ScriptCall, isByText: boolean): Promise<unknown> {
  // Spread, not as one array: ioredis takes longer still to flatten an array within an array.
  return isByText ? client.eval(...argumentsOf(call, true)) : client.evalsha(...argumentsOf(call, false));
}

/** The database that the caller's client is in now, or will be in again once it has reconnected. */
function selectedDb({ condition, prevCondition, options }: Ioredis): number {
  const db = Number(prevCondition?.select ?? condition?.select ?? options['db']);
  return Number.isInteger(db) ? db : 0;
}

export function keyPrefixOf(options: Readonly<Record<string, unknown>>): string {
  const keyPrefix = options['keyPrefix'] ?? '';
  if (typeof keyPrefix === 'string') return keyPrefix;
  throw new LockConfigError(
    'expected a client whose keyPrefix is a string, got one whose keyPrefix is a Buffer',
  );
}

function addressOf(options: Readonly<Record<string, unknown>>): string {
  const { path, sentinels, name, host, port } = options;
  if (Array.isArray(sentinels)) return `by sentinel ${String(name)}`;
  return typeof path === 'string' ? path : `${String(host ?? 'localhost')}:${String(port ?? 6379)}`;
}
