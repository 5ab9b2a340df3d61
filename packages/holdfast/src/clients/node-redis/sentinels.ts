/** Sentinels of node-redis 6. Those of version 5 tell nothing of how they were made. */
import type { TimerQueue } from '../../runtime/timer-queue.ts';
import type { Driver, Wire, WireEvents } from '../connection/raw-connection.ts';
import { PrimaryDriver } from '../sentinel/primary.ts';
import type { Address, Sentinels } from '../sentinel/search.ts';
import { KindSearch, patternOf, type Sentinel } from './client-template.ts';
import { keyPrefixOf, NodeRedisWire, type Options, socketOptionsOf } from './node-redis.ts';

/** Of a client of the primary that a client of a sentinel must not have. */
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
  #search: KindSearch | null = null;

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
    if (patternOf(this.#sentinel) !== undefined) return;
    this.#search ??= new KindSearch(this.#sentinel, this.#options, this.addresses, this.#timers);
    const search = this.#search;
    try {
      await search.join(signal);
    } finally {
      if (this.#search === search) this.#search = null;
    }
  }

  dialSentinel(address: Address, events: WireEvents): Wire {
    const own = partOf(this.#options, 'sentinelClientOptions');
    // Flat lists for answers, and nothing that a sentinel might not know.
    return this.#dial(address, events, { ...NOT_OF_SENTINELS, ...own, RESP: 2 });
  }

  dialPrimary(address: Address, events: WireEvents): Wire {
    return this.#dial(address, events, partOf(this.#options, 'nodeClientOptions'));
  }

  #dial(address: Address, events: WireEvents, own: Options): Wire {
    const pattern = patternOf(this.#sentinel);
    if (pattern === undefined) throw new Error('no client to make connections from yet');
    const { host, port } = mapped(address, this.#options['nodeAddressMap']);
    const socket = { ...socketOptionsOf(own), host, port };
    return new NodeRedisWire(pattern, events, { ...own, socket });
  }
}

/** The caller must have made sure that it is one: see `adapt.ts`. */
export function driveNodeRedisSentinel(sentinel: object, timers: TimerQueue): Driver {
  // The one border: what `adapt.ts` checked stands for the rest, and the tests of sentinels for that.
  return new PrimaryDriver(new NodeRedisSentinels(sentinel as Sentinel, timers), timers);
}

/**
 * With what it was made: it keeps that to itself, but hands it to the constructor when it is asked for a duplicate.
 * So an heir of it is asked whose constructor is ours. Nothing is set on the caller's, and nothing made.
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
  // As the sentinel itself does: what is said for all, then what is said for these.
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
