/**
 * In this folder: the adapter of GLIDE 2.5, the client of the Valkey project. Only `clients/adapt.ts` imports from
 * here.
 *
 * The connection of GLIDE lives in native code, which makes a lost connection again by itself and tells nobody. So this
 * adapter differs from the others: only a call in flight says that the connection is gone, and GLIDE cannot be used in a
 * quorum, because a server that restarted would go unnoticed.
 */
import { assert } from '../../runtime/assert.ts';
import type { ScriptCall } from '../client.ts';
import {
  type ChannelMode,
  CONNECT_MS_MAX,
  CONNECTION_NAME,
  type Driver,
  type RawConnection,
  type RawConnectionEvents,
} from '../connection/raw-connection.ts';
import { ignoreRefusal } from '../connection/reply-errors.ts';
import { scriptCommand } from '../connection/script-command.ts';
import { STALL_MS_MAX } from '../connection/stall-watch.ts';
import { glideReply } from './reply.ts';

type Options = Readonly<Record<string, unknown>>;

interface Message {
  readonly channel: unknown;
  readonly message: unknown;
}

/** What we use of a client. */
interface Glide {
  readonly config: Options;
  /** To the native code, not to the server. */
  readonly socket?: { unref(): unknown };
  customCommand(args: string[]): Promise<unknown>;
  subscribe(channels: ReadonlySet<string>, timeoutMs: number): Promise<unknown>;
  unsubscribe(channels: ReadonlySet<string>, timeoutMs: number): Promise<unknown>;
  unsubscribeLazy(channels: ReadonlySet<string>): Promise<unknown>;
  close(reason?: string): void;
}

interface GlideClass {
  createClient(config: Options): Promise<Glide>;
}

/** A confirmation that takes longer than this is none: shorter than the stall that ends a connection. */
const SUBSCRIBE_MS_MAX = STALL_MS_MAX - 1_000;

/** Longer than our own patience with a connection, so that the limit of GLIDE never decides. */
const REQUEST_MS_MAX = 2 * STALL_MS_MAX;

/** How many of our calls may be in flight is decided above; this is more than that. */
const REQUESTS_MAX = 1_000_000;

/**
 * How GLIDE reconnects: after up to 100, 200 and 400 ms, and every 400 ms from then on. Not less: with no retries at
 * all the native code dies at the first lost connection, with every client of the process.
 */
const BACKOFF = { numberOfRetries: 2, factor: 100, exponentBase: 2 };

/**
 * GLIDE's number for: trust the address. Otherwise GLIDE asks each server for its role, and an attempt that fails leaves
 * behind another one that goes on for ever. With several addresses GLIDE has to ask, to find the primary.
 */
const TRUST_ADDRESS = 1;

/**
 * How our connections differ from the caller's. Addresses, credentials, TLS and database stay; whatever decides
 * when a command is sent, where, how it is converted and how many may be under way is ours.
 */
const OPTIONS: Options = {
  lazyConnect: false,
  // The newest protocol, and replies as strings.
  protocol: undefined,
  defaultDecoder: undefined,
  connectionBackoff: BACKOFF,
  requestTimeout: REQUEST_MS_MAX,
  inflightRequestsLimit: REQUESTS_MAX,
  // Locks live on the primary, also when the caller reads from a replica.
  readFrom: 'primary',
  readOnly: false,
  // Our name is set after the handshake, where a refusal does no harm.
  clientName: undefined,
  clientSideCache: undefined,
  compression: undefined,
  clientCircuitBreaker: undefined,
};

class GlideConnection implements RawConnection {
  readonly #client: Glide;
  readonly #events: RawConnectionEvents;
  readonly #signal: AbortSignal;

  constructor(client: Glide, events: RawConnectionEvents, signal: AbortSignal) {
    this.#client = client;
    this.#events = events;
    this.#signal = signal;
  }

  send(call: ScriptCall, isByText: boolean): Promise<unknown> {
    return this.#answer(this.#client.customCommand(scriptCommand(call, isByText)));
  }

  command(args: readonly string[]): Promise<unknown> {
    return this.#answer(this.#client.customCommand([...args]));
  }

  /** GLIDE does not tell a refusal: it asks again and again, and only says that it took too long. */
  async subscribe(channel: string, mode: ChannelMode): Promise<void> {
    assert(mode === 'plain', () => 'only the nodes of a cluster have sharded channels');
    const channels = new Set([channel]);
    try {
      await this.#client.subscribe(channels, SUBSCRIBE_MS_MAX);
    } catch (error) {
      if (!this.#signal.aborted) this.#client.unsubscribeLazy(channels).catch(this.#events.lost);
      throw glideReply(error);
    }
  }

  async unsubscribe(channel: string): Promise<void> {
    await this.#client.unsubscribe(new Set([channel]), SUBSCRIBE_MS_MAX);
  }

  /** Any error that is not a reply of the server says that the connection is gone. */
  async #answer(answer: Promise<unknown>): Promise<unknown> {
    try {
      return await answer;
    } catch (error) {
      const reply = glideReply(error);
      if (reply === error) this.#events.lost(error);
      throw reply;
    }
  }
}

class GlideDriver implements Driver {
  readonly #client: Glide;
  readonly description: string;
  readonly keyPrefix = '';
  readonly reconnectsSilently = true;

  constructor(client: Glide) {
    this.#client = client;
    this.description = `GLIDE ${addressOf(client.config)}`;
  }

  /** GLIDE calls itself connected at once. Only the answer to our name says that the server has let us in. */
  async dial(events: RawConnectionEvents, signal: AbortSignal): Promise<RawConnection> {
    const callback = ({ channel, message }: Message): void =>
      events.message(String(channel), String(message));
    const client = await this.#create({ channelsAndPatterns: {}, callback });
    client.socket?.unref();
    signal.addEventListener('abort', () => client.close(), { once: true });
    // A listener that is added to a signal after it has fired is never called.
    if (signal.aborted) client.close();
    signal.throwIfAborted();
    const connection = new GlideConnection(client, events, signal);
    await connection.command(['CLIENT', 'SETNAME', CONNECTION_NAME]).catch(ignoreRefusal);
    return connection;
  }

  #create(pubsubSubscriptions: object): Promise<Glide> {
    const { config, constructor: itsClass } = this.#client;
    const { addresses } = config;
    const isAlone = Array.isArray(addresses) && addresses.length === 1;
    const advancedConfiguration = {
      ...optionsIn(config, 'advancedConfiguration'),
      connectionTimeout: CONNECT_MS_MAX,
    };
    // The class of the caller's instance: nothing of the package is imported here.
    return (itsClass as unknown as GlideClass).createClient({
      ...config,
      ...OPTIONS,
      ...(isAlone ? { nodeDiscoveryMode: TRUST_ADDRESS } : {}),
      advancedConfiguration,
      pubsubSubscriptions,
    });
  }
}

/** The caller must have made sure that the client is one of GLIDE: see `adapt.ts`. */
export function driveGlide(client: object): Driver {
  // The one border: what `adapt.ts` checked stands for the rest, and the conformance suite for that.
  return new GlideDriver(client as Glide);
}

function optionsIn(options: Options, name: string): Options {
  const value = options[name];
  // Whatever the caller's client was made with; it has accepted it.
  return typeof value === 'object' && value !== null ? (value as Options) : {};
}

function addressOf({ addresses }: Options): string {
  if (!Array.isArray(addresses)) return 'at an unknown address';
  return addresses.map(({ host, port }) => `${String(host)}:${String(port ?? 6379)}`).join(', ');
}
