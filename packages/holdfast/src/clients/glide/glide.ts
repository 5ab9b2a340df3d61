/**
 * GLIDE 2.5, the client of the Valkey project.
 *
 * Its connection lives in native code, which makes it again by itself when it is lost and tells nobody. So what is
 * written here differs from the other clients: only a call that was under way says that the connection is gone, and
 * several servers cannot be asked to agree through it, because a restarted one would go unnoticed.
 */
import type { ScriptCall } from '../client.ts';
import {
  CONNECT_MS_MAX,
  CONNECTION_NAME,
  type Driver,
  type Wire,
  type WireEvents,
} from '../connection/raw-connection.ts';
import { ignoreRefusal } from '../connection/reply-errors.ts';
import { scriptCommand } from '../connection/script-command.ts';
import { SILENCE_MS_MAX } from '../connection/stall-watch.ts';
import { glideReply } from './reply.ts';

type Options = Readonly<Record<string, unknown>>;

interface Message {
  readonly channel: unknown;
  readonly message: unknown;
}

/** What we use of it. */
interface Glide {
  readonly config: Options;
  /** To the native code, not to the server. */
  readonly socket?: { ref(): unknown; unref(): unknown };
  customCommand(args: string[]): Promise<unknown>;
  subscribe(channels: ReadonlySet<string>, timeoutMs: number): Promise<unknown>;
  unsubscribe(channels: ReadonlySet<string>, timeoutMs: number): Promise<unknown>;
  unsubscribeLazy(channels: ReadonlySet<string>): Promise<unknown>;
  close(reason?: string): void;
}

interface GlideClass {
  createClient(config: Options): Promise<Glide>;
}

/** A confirmation that takes longer than this is none: shorter than the silence that ends a connection. */
const SUBSCRIBE_MS_MAX = SILENCE_MS_MAX - 1_000;

/** Past our own patience with a connection, so that it never decides. */
const REQUEST_MS_MAX = 2 * SILENCE_MS_MAX;

/** How many of our calls may be under way is decided above; this is more than any of them. */
const REQUESTS_MAX = 1_000_000;

/**
 * How it tries again: after up to 100, 200 and 400 ms, and every 400 ms from then on. Not less: with no retries at
 * all the native code dies at the first lost connection, with every client of the process.
 */
const BACKOFF = { numberOfRetries: 2, factor: 100, exponentBase: 2 };

/**
 * GLIDE's number for: trust the address. Otherwise it asks each server for its role, and an attempt that fails
 * leaves behind another one that goes on for ever. With several addresses it has to ask, to find the primary.
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
  // Ours is said after the handshake, where a refusal does no harm.
  clientName: undefined,
  clientSideCache: undefined,
  compression: undefined,
  clientCircuitBreaker: undefined,
};

class GlideWire implements Wire {
  readonly #create: (pubsub: object) => Promise<Glide>;
  readonly #events: WireEvents;
  #client: Glide | null = null;
  #isHeld = true;
  #isDropped = false;

  constructor(create: (pubsub: object) => Promise<Glide>, events: WireEvents) {
    this.#create = create;
    this.#events = events;
  }

  /** It calls itself connected at once. Only the answer to our name says that the server has let us in. */
  async connect(): Promise<void> {
    const callback = ({ channel, message }: Message): void =>
      this.#events.message(String(channel), String(message));
    const client = await this.#create({ channelsAndPatterns: {}, callback });
    if (this.#isDropped) return client.close();
    this.#client = client;
    this.hold(this.#isHeld);
    const naming = ['CLIENT', 'SETNAME', CONNECTION_NAME];
    await this.#answer(client.customCommand(naming)).catch(ignoreRefusal);
  }

  send(call: ScriptCall, isByText: boolean): Promise<unknown> {
    return this.#answer(this.#up().customCommand(scriptCommand(call, isByText)));
  }

  command(args: readonly string[]): Promise<unknown> {
    return this.#answer(this.#up().customCommand([...args]));
  }

  /** A refusal is not told: the client asks again and again, and only says that it took too long. */
  async subscribe(channel: string): Promise<void> {
    const channels = new Set([channel]);
    try {
      await this.#up().subscribe(channels, SUBSCRIBE_MS_MAX);
    } catch (error) {
      if (!this.#isDropped) this.#up().unsubscribeLazy(channels).catch(this.#events.lost);
      throw glideReply(error);
    }
  }

  async unsubscribe(channel: string): Promise<void> {
    await this.#up().unsubscribe(new Set([channel]), SUBSCRIBE_MS_MAX);
  }

  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    if (isHeld) this.#client?.socket?.ref();
    else this.#client?.socket?.unref();
  }

  drop(): void {
    this.#isDropped = true;
    this.#client?.close();
  }

  #up(): Glide {
    if (this.#client === null) throw new Error('there is no connection');
    return this.#client;
  }

  /** Whatever is not a reply of the server says that the connection is gone. */
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

  dial(events: WireEvents): Wire {
    const { config, constructor: itsClass } = this.#client;
    const { addresses } = config;
    const isAlone = Array.isArray(addresses) && addresses.length === 1;
    const advancedConfiguration = {
      ...optionsIn(config, 'advancedConfiguration'),
      connectionTimeout: CONNECT_MS_MAX,
    };
    const create = (pubsubSubscriptions: object): Promise<Glide> =>
      // The class of the caller's instance: nothing of the package is imported here.
      (itsClass as unknown as GlideClass).createClient({
        ...config,
        ...OPTIONS,
        ...(isAlone ? { nodeDiscoveryMode: TRUST_ADDRESS } : {}),
        advancedConfiguration,
        pubsubSubscriptions,
      });
    return new GlideWire(create, events);
  }
}

/** The caller must have made sure that it is one: see `adapt.ts`. */
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
