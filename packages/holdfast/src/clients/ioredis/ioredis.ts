/** ioredis 5.4 to 6, and clients of the same shape. */
import { LockConfigError } from '../../errors.ts';
import type { ScriptCall } from '../client.ts';
import {
  CONNECT_MS_MAX,
  CONNECTION_NAME,
  KEEP_ALIVE_MS,
  type NodeDriver,
  type NodeWire,
  type WireEvents,
} from '../connection/raw-connection.ts';
import { ignoreRefusal } from '../connection/reply-errors.ts';
import { argumentsOf, type Command, commandMaker, type MakeCommand } from './command.ts';
import { IoredisShards } from './shards.ts';

/** Its socket. */
interface Stream {
  readonly writable: boolean;
  ref(): unknown;
  unref(): unknown;
  cork(): void;
  uncork(): void;
}

type Subscribed = false | { channels(verb: 'ssubscribe'): readonly string[] };

/** What we use of it. */
export interface Ioredis {
  readonly status: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly condition?: { readonly select?: unknown; readonly subscriber?: Subscribed } | null;
  readonly prevCondition?: { readonly select?: unknown } | null;
  readonly stream?: Stream;
  duplicate(override: object): Ioredis;
  connect(): Promise<unknown>;
  disconnect(): void;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  on(event: 'close', listener: () => void): unknown;
  on(event: 'message' | 'smessage', listener: (channel: string, text: string) => void): unknown;
  on(event: 'moved', listener: () => void): unknown;
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
  // Both are ours to say, after the handshake: see `connect`.
  db: 0,
  connectionName: null,
  // Whoever is found by sentinels is found by us.
  sentinels: null,
};

/** The caller must have made sure that it is one: see `adapt.ts`. */
export function asIoredis(client: object): Ioredis {
  // The one border: what `adapt.ts` checked stands for the rest, and the conformance suite for that.
  return client as Ioredis;
}

export class IoredisWire implements NodeWire {
  readonly #client: Ioredis;
  readonly #db: number;
  #isHeld = true;
  #isCorked = false;
  readonly #makeCommand: MakeCommand | null;
  readonly #shards: IoredisShards;

  constructor(caller: Ioredis, db: number, events: WireEvents, address: object) {
    this.#client = caller.duplicate({ ...OPTIONS, ...address });
    this.#db = db;
    this.#makeCommand = commandMaker(this.#client);
    this.#client.on('error', events.lost);
    this.#client.on('close', () => events.lost(new Error('Connection is closed.')));
    this.#client.on('message', events.message);
    this.#client.on('smessage', events.message);
    this.#shards = new IoredisShards(this.#client, (channel) => events.dropped?.(channel));
  }

  /**
   * The client calls itself ready too early for us. Version 5 does not wait for the answer to AUTH, so a script
   * can run as the default user although the password was wrong; and no version minds a failed SELECT, so a
   * script can run in database 0. We send our own SELECT, and wait for its answer and for that of a command
   * behind AUTH.
   */
  async connect(): Promise<void> {
    const connecting = this.#client.connect();
    // It makes its socket in a moment, and one whose SYN is lost would hold the process until it is given up.
    setImmediate(() => this.hold(this.#isHeld));
    await connecting;
    this.hold(this.#isHeld);
    const named = this.#client.client('SETNAME', CONNECTION_NAME).catch(ignoreRefusal);
    const selected = this.#db === 0 ? undefined : this.#client.select(this.#db);
    await Promise.all([named, selected]);
  }

  send(call: ScriptCall, isByText: boolean, isBusy: boolean): Promise<unknown> {
    if (isBusy && !this.#isCorked) this.#cork();
    // Right before it: the permission is good for the next command only. Without it the script is refused.
    if (call.isAsking === true) this.#client.asking().catch(() => {});
    if (this.#makeCommand === null) return send(this.#client, call, isByText);
    return this.#client.sendCommand(this.#makeCommand(call, isByText));
  }

  command([verb = '', ...args]: readonly string[]): Promise<unknown> {
    return this.#client.call(verb, args);
  }

  async subscribe(channel: string): Promise<void> {
    await this.#client.subscribe(channel);
  }

  async unsubscribe(channel: string): Promise<void> {
    await this.#client.unsubscribe(channel);
  }

  subscribeShard(channel: string): Promise<void> {
    return this.#shards.subscribe(channel);
  }

  unsubscribeShard(channel: string): Promise<void> {
    return this.#shards.unsubscribe(channel);
  }

  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    if (isHeld) this.#client.stream?.ref();
    else this.#client.stream?.unref();
  }

  drop(): void {
    this.#client.disconnect();
  }

  /** The client makes a system call for each command. What this tick writes goes out at its end, in one. */
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

/** What both ways of finding the server have in common: the caller's client, its database and its prefix. */
export class IoredisDriver implements NodeDriver {
  readonly #client: Ioredis;
  readonly description: string;
  readonly keyPrefix: string;
  #db: number | undefined;

  constructor(client: Ioredis) {
    this.#client = client;
    this.description = `ioredis ${addressOf(client.options)}`;
    this.keyPrefix = keyPrefixOf(client.options);
  }

  /** `address` are the options that say where, when it is not where the caller's client is. */
  dial(events: WireEvents, address: object = {}): NodeWire {
    // Once for all connections: locks must not move when the caller selects another database later on.
    this.#db ??= selectedDb(this.#client);
    return new IoredisWire(this.#client, this.#db, events, address);
  }
}

function send(client: Ioredis, call: ScriptCall, isByText: boolean): Promise<unknown> {
  // Spread, not as one array: to flatten an array within an array takes it longer still.
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
