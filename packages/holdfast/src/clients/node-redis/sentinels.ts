/** Sentinels of node-redis 6. Those of version 5 do not tell their options. */
import type { TimerQueue } from '../../runtime/timer-queue.ts';
import type { Driver, RawConnection, RawConnectionEvents } from '../connection/raw-connection.ts';
import type { Address } from '../sentinel/address.ts';
import { PrimaryDriver } from '../sentinel/primary.ts';
import type { Sentinels } from '../sentinel/search.ts';
import { type Sentinel, TemplateSearch, templateOf } from './client-template.ts';
import { dialNodeRedis, keyPrefixOf, type Options, socketOptionsOf } from './node-redis.ts';

/** Options of a client of the primary that a client of a sentinel must not have. */
const NOT_OF_SENTINELS: Options = {
  username: undefined,
  password: undefined,
  credentialsProvider: undefined,
  database: undefined,
};

class NodeRedisSentinels implements Sentinels {
  readonly name: string;
  readonly description: string;
  readonly keyPrefix: string;
  readonly addresses: readonly Address[];
  readonly #sentinel: Sentinel;
  readonly #options: Options;
  readonly #timers: TimerQueue;
  #search: TemplateSearch | null = null;

  constructor(sentinel: Sentinel, timers: TimerQueue) {
    this.#sentinel = sentinel;
    this.#timers = timers;
    this.#options = optionsOf(sentinel);
    const { name, sentinelRootNodes } = this.#options;
    this.name = String(name);
    this.description = `node-redis by sentinel ${this.name}`;
    this.keyPrefix = keyPrefixOf(this.#options);
    // The caller's sentinel has accepted them.
    this.addresses = Array.isArray(sentinelRootNodes) ? (sentinelRootNodes as Address[]) : [];
  }

  async ready(signal: AbortSignal): Promise<void> {
    if (templateOf(this.#sentinel) !== undefined) return;
    this.#search ??= new TemplateSearch(this.#sentinel, this.#options, this.addresses, this.#timers);
    const search = this.#search;
    try {
      await search.join(signal);
    } finally {
      if (this.#search === search) this.#search = null;
    }
  }

  dialSentinel(address: Address, events: RawConnectionEvents, signal: AbortSignal): Promise<RawConnection> {
    const own = partOf(this.#options, 'sentinelClientOptions');
    // Flat lists for answers, and nothing that a sentinel might not know.
    return this.#dial(address, { ...NOT_OF_SENTINELS, ...own, RESP: 2 }, events, signal);
  }

  dialPrimary(address: Address, events: RawConnectionEvents, signal: AbortSignal): Promise<RawConnection> {
    return this.#dial(address, partOf(this.#options, 'nodeClientOptions'), events, signal);
  }

  async #dial(
    address: Address,
    own: Options,
    events: RawConnectionEvents,
    signal: AbortSignal,
  ): Promise<RawConnection> {
    const template = templateOf(this.#sentinel);
    if (template === undefined) throw new Error('no client to make connections from yet');
    const { host, port } = mapped(address, this.#options['nodeAddressMap']);
    const socket = { ...socketOptionsOf(own), host, port };
    return dialNodeRedis(template, { ...own, socket }, events, signal);
  }
}

/** The caller must have made sure that the client is a node-redis sentinel: see `adapt.ts`. */
export function driveNodeRedisSentinel(sentinel: object, timers: TimerQueue): Driver {
  // The one border: what `adapt.ts` checked stands for the rest, and the tests of sentinels for that.
  return new PrimaryDriver(new NodeRedisSentinels(sentinel as Sentinel, timers), timers);
}

/**
 * The options of a sentinel. It keeps them private, but `duplicate` hands them to the constructor: so we call `duplicate`
 * on an object that inherits from the sentinel and has a constructor of ours. Nothing is set on the caller's sentinel,
 * and nothing is made.
 */
function optionsOf(sentinel: Sentinel): Options {
  const seen: Options[] = [];
  const see = function See(options: Options): void {
    seen.push(options);
  };
  Object.create(Object.create(sentinel, { constructor: { value: see } })).duplicate();
  return seen[0] ?? {};
}

function partOf(options: Options, name: string): Options {
  const part = options[name];
  const RESP = options['RESP'];
  // The options of all connections come before those of this kind of connection, as in the sentinel itself.
  return {
    ...(RESP === undefined ? {} : { RESP }),
    ...(typeof part === 'object' && part !== null ? part : {}),
  };
}

/** Where a server is seen from here, when the sentinels see it elsewhere. */
function mapped(address: Address, map: unknown): Address {
  const key = `${address.host}:${address.port}`;
  // The caller's own, as its sentinel takes it.
  if (typeof map === 'function') return (map as (key: string) => Address | undefined)(key) ?? address;
  if (typeof map === 'object' && map !== null) return (map as Record<string, Address>)[key] ?? address;
  return address;
}
