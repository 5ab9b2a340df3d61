/** node-redis 5 to 6. */
import { LockConfigError } from '../../errors.ts';
import type { ScriptCall } from '../client.ts';
import type { NodeAddress } from '../cluster/address.ts';
import {
  CONNECT_MS_MAX,
  CONNECTION_NAME,
  KEEP_ALIVE_MS,
  type NodeDriver,
  type NodeWire,
  type WireEvents,
} from '../connection/raw-connection.ts';
import { ignoreRefusal } from '../connection/reply-errors.ts';
import { scriptCommand } from '../connection/script-command.ts';

export type Options = Readonly<Record<string, unknown>>;
type MessageListener = (text: string, channel: string) => void;

/** What we use of it. */
export interface NodeRedis {
  readonly isOpen: boolean;
  readonly isReady: boolean;
  readonly options?: Options | undefined;
  duplicate(override: object): NodeRedis;
  connect(): Promise<unknown>;
  destroy(): void;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  on(event: 'sharded-channel-moved', listener: (channel: string) => void): unknown;
  sendCommand(args: readonly string[], options?: object): Promise<unknown>;
  subscribe(channel: string, listener: MessageListener): Promise<unknown>;
  unsubscribe(channel: string, listener: MessageListener): Promise<unknown>;
  sSubscribe(channel: string, listener: MessageListener): Promise<unknown>;
  sUnsubscribe(channel: string, listener: MessageListener): Promise<unknown>;
  ref(): void;
  unref(): void;
}

/**
 * How our connections differ from the caller's. Address, credentials, TLS, database and protocol stay; whatever
 * decides when a command is sent, queued, delayed, prefixed or converted is ours.
 */
const OPTIONS: Options = {
  // It has been taken apart into the other options, and would win over them.
  url: undefined,
  // Ours is said after the handshake, where a refusal does no harm.
  name: undefined,
  disableOfflineQueue: true,
  commandsQueueMaxLength: undefined,
  pingInterval: undefined,
  keyPrefix: undefined,
  readonly: false,
  clientSideCache: undefined,
  emitInvalidate: false,
  maintNotifications: 'disabled',
  himportRegistry: undefined,
};

const SOCKET_OPTIONS: Options = {
  reconnectStrategy: false,
  connectTimeout: CONNECT_MS_MAX,
  socketTimeout: undefined,
  keepAlive: true,
  keepAliveInitialDelay: KEEP_ALIVE_MS,
  noDelay: true,
};

/**
 * For all commands of ours, over what the caller has chosen: no time limit of its own (version 6 has one of five
 * seconds, and makes an `AbortSignal` for each command to keep it), and replies as strings and numbers.
 */
const COMMAND_OPTIONS = {
  timeout: undefined,
  abortSignal: undefined,
  asap: false,
  typeMapping: undefined,
};

export class NodeRedisWire implements NodeWire {
  readonly #client: NodeRedis;
  readonly #abort = new AbortController();
  readonly #onMessage: MessageListener;

  /** `own` are further options that differ from the caller's, such as where to connect to. */
  constructor(caller: NodeRedis, events: WireEvents, own: Options = {}) {
    const socket = socketOptionsOf('socket' in own ? own : caller.options);
    this.#client = caller.duplicate({
      ...own,
      ...OPTIONS,
      commandOptions: COMMAND_OPTIONS,
      // The signal ends a socket that is still connecting, which `destroy` forgets.
      socket: { ...socket, ...SOCKET_OPTIONS, signal: this.#abort.signal },
    });
    this.#onMessage = (text, channel) => events.message(channel, text);
    this.#client.on('error', events.lost);
    this.#client.on('sharded-channel-moved', (channel) => events.dropped?.(channel));
  }

  /**
   * Version 5 has no handshake when it has nothing to say, and calls itself connected when only the kernel has
   * answered. The name is awaited, so that a call to a server that is stuck is never written.
   */
  async connect(): Promise<void> {
    await this.#client.connect();
    const naming = ['CLIENT', 'SETNAME', CONNECTION_NAME];
    await this.#client.sendCommand(naming).catch(ignoreRefusal);
  }

  send(call: ScriptCall, isByText: boolean): Promise<unknown> {
    // Right before it: the permission is good for the next command only. Without it the script is refused.
    if (call.isAsking === true) this.#client.sendCommand(['ASKING']).catch(() => {});
    return this.#client.sendCommand(scriptCommand(call, isByText));
  }

  async subscribe(channel: string): Promise<void> {
    await this.#client.subscribe(channel, this.#onMessage);
  }

  async unsubscribe(channel: string): Promise<void> {
    await this.#client.unsubscribe(channel, this.#onMessage);
  }

  command(args: readonly string[]): Promise<unknown> {
    return this.#client.sendCommand(args);
  }

  async subscribeShard(channel: string): Promise<void> {
    await this.#client.sSubscribe(channel, this.#onMessage);
  }

  async unsubscribeShard(channel: string): Promise<void> {
    await this.#client.sUnsubscribe(channel, this.#onMessage);
  }

  hold(isHeld: boolean): void {
    if (isHeld) this.#client.ref();
    else this.#client.unref();
  }

  drop(): void {
    try {
      this.#client.destroy();
    } catch {
      // Version 5 throws when it has closed by itself.
    }
    this.#abort.abort();
  }
}

class NodeRedisDriver implements NodeDriver {
  readonly #client: NodeRedis;
  readonly #socket: Options;
  readonly description: string;
  readonly keyPrefix: string;

  constructor(client: NodeRedis, socket: Options) {
    this.#client = client;
    this.#socket = socket;
    this.description = `node-redis ${addressOf(socket)}`;
    this.keyPrefix = keyPrefixOf(client.options);
  }

  /** In the database of its options: the client does not tell which one its owner has selected since. */
  dial(events: WireEvents): NodeWire {
    return new NodeRedisWire(this.#client, events, { socket: this.#socket });
  }
}

/** The caller must have made sure that it is one: see `adapt.ts`. */
export function driveNodeRedis(client: object): NodeDriver {
  // The one border: what `adapt.ts` checked stands for the rest, and the conformance suite for that.
  const nodeRedis = client as NodeRedis;
  return new NodeRedisDriver(nodeRedis, socketOptionsOf(nodeRedis.options));
}

/** A connection like that of a client, to another address. */
export function driveNodeRedisTo(client: NodeRedis, { host, port }: NodeAddress): NodeDriver {
  return new NodeRedisDriver(client, { ...socketOptionsOf(client.options), host, port });
}

export function socketOptionsOf(options: Options | undefined): Options {
  const socket = options?.['socket'];
  // Whatever the caller's client was made with; it has accepted it.
  return typeof socket === 'object' && socket !== null ? (socket as Options) : {};
}

export function keyPrefixOf(options: Options | undefined): string {
  const keyPrefix = options?.['keyPrefix'] ?? '';
  if (typeof keyPrefix === 'string') return keyPrefix;
  throw new LockConfigError(
    'expected a client whose keyPrefix is a string, got one whose keyPrefix is a Buffer',
  );
}

function addressOf({ path, host, port }: Options): string {
  return typeof path === 'string' ? path : `${String(host ?? 'localhost')}:${String(port ?? 6379)}`;
}
