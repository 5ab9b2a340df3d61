/**
 * In this folder: the adapter of node-redis 5 to 6: one server (this file), sentinels (version 6 only) and clusters.
 * Only `clients/adapt.ts` imports from here.
 */
import { LockConfigError } from '../../errors.ts';
import type { ScriptCall } from '../client.ts';
import type { NodeAddress } from '../cluster/address.ts';
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
import { scriptCommand } from '../connection/script-command.ts';

export type Options = Readonly<Record<string, unknown>>;
type MessageListener = (text: string, channel: string) => void;

/** What we use of a client. */
export interface NodeRedis {
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
  unref(): void;
}

/**
 * How our connections differ from the caller's. Address, credentials, TLS, database and protocol stay; whatever
 * decides when a command is sent, queued, delayed, prefixed or converted is ours.
 */
const OPTIONS: Options = {
  // The URL has been taken apart into the other options, and would win over them.
  url: undefined,
  // Our name is set after the handshake, where a refusal does no harm.
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
 * For all commands of ours, over what the caller has chosen: no time limit (version 6 has one of five seconds, and makes
 * an `AbortSignal` for each command to keep it), and replies as strings and numbers.
 */
const COMMAND_OPTIONS = {
  timeout: undefined,
  abortSignal: undefined,
  asap: false,
  typeMapping: undefined,
};

class NodeRedisConnection implements RawConnection {
  readonly #client: NodeRedis;
  readonly #onMessage: MessageListener;

  constructor(client: NodeRedis, events: RawConnectionEvents) {
    this.#client = client;
    this.#onMessage = (text, channel) => events.message(channel, text);
    client.on('error', events.lost);
    client.on('sharded-channel-moved', events.dropped);
  }

  send(call: ScriptCall, isByText: boolean): Promise<unknown> {
    // Right before the script: the permission is good for the next command only. Without it the script is refused.
    if (call.isAsking === true) this.#client.sendCommand(['ASKING']).catch(() => {});
    return this.#client.sendCommand(scriptCommand(call, isByText));
  }

  command(args: readonly string[]): Promise<unknown> {
    return this.#client.sendCommand(args);
  }

  async subscribe(channel: string, mode: ChannelMode): Promise<void> {
    if (mode === 'sharded') await this.#client.sSubscribe(channel, this.#onMessage);
    else await this.#client.subscribe(channel, this.#onMessage);
  }

  async unsubscribe(channel: string, mode: ChannelMode): Promise<void> {
    if (mode === 'sharded') await this.#client.sUnsubscribe(channel, this.#onMessage);
    else await this.#client.unsubscribe(channel, this.#onMessage);
  }
}

/**
 * A connection like that of a client, with these options over its own, such as where to connect to.
 *
 * Version 5 has no handshake when it has nothing to say, and calls itself connected when only the kernel has
 * answered. The answer to our name is awaited, so that a call to a server that is stuck is never written.
 */
export async function dialNodeRedis(
  template: NodeRedis,
  options: Options,
  events: RawConnectionEvents,
  signal: AbortSignal,
): Promise<RawConnection> {
  const client = template.duplicate({
    ...options,
    ...OPTIONS,
    commandOptions: COMMAND_OPTIONS,
    // The signal ends a socket that is still connecting, which `destroy` forgets.
    socket: { ...socketOptionsOf(options), ...SOCKET_OPTIONS, signal },
  });
  // Before the socket: `destroy` must come first when the signal aborts.
  signal.addEventListener('abort', () => destroy(client), { once: true });
  const connection = new NodeRedisConnection(client, events);
  // Before there is a socket: the client hides one that is still being let in.
  client.unref();
  await client.connect();
  await client.sendCommand(['CLIENT', 'SETNAME', CONNECTION_NAME]).catch(ignoreRefusal);
  return connection;
}

function destroy(client: NodeRedis): void {
  try {
    client.destroy();
  } catch {
    // Version 5 throws when it has closed by itself.
  }
}

class NodeRedisDriver implements Driver {
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

  /** In the database of the client's options: it does not tell which one its owner has selected since. */
  dial(events: RawConnectionEvents, signal: AbortSignal): Promise<RawConnection> {
    return dialNodeRedis(this.#client, { socket: this.#socket }, events, signal);
  }
}

/** The caller must have made sure that the client is one of node-redis: see `adapt.ts`. */
export function driveNodeRedis(client: object): Driver {
  // The one border: what `adapt.ts` checked stands for the rest, and the conformance suite for that.
  const nodeRedis = client as NodeRedis;
  return new NodeRedisDriver(nodeRedis, socketOptionsOf(nodeRedis.options));
}

/** A connection like that of a client, to another address. */
export function driveNodeRedisTo(client: NodeRedis, { host, port }: NodeAddress): Driver {
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
