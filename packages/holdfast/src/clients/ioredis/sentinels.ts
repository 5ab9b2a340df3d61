/** ioredis clients that find their server by sentinels. */
import type { TimerQueue } from '../../runtime/timer-queue.ts';
import type { Driver, RawConnection, RawConnectionEvents } from '../connection/raw-connection.ts';
import type { Address } from '../sentinel/address.ts';
import { PrimaryDriver } from '../sentinel/primary.ts';
import type { Sentinels } from '../sentinel/search.ts';
import { asIoredis, dialIoredis, type Ioredis, IoredisDriver } from './ioredis.ts';

const SENTINEL_PORT = 26_379;

class IoredisSentinels implements Sentinels {
  readonly name: string;
  readonly addresses: readonly Address[];
  readonly #client: Ioredis;
  readonly #driver: IoredisDriver;

  constructor(client: Ioredis) {
    const { name, sentinels } = client.options;
    // The client refuses to be made without both.
    this.name = String(name);
    this.#client = client;
    this.#driver = new IoredisDriver(client);
    this.addresses = Array.isArray(sentinels) ? sentinels.map(addressOf) : [];
  }

  get description(): string {
    return this.#driver.description;
  }

  get keyPrefix(): string {
    return this.#driver.keyPrefix;
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  dialSentinel(address: Address, events: RawConnectionEvents, signal: AbortSignal): Promise<RawConnection> {
    const { sentinelUsername, sentinelPassword, sentinelTLS } = this.#client.options;
    const username = sentinelUsername ?? null;
    const password = sentinelPassword ?? null;
    const options = { ...address, username, password, tls: sentinelTLS };
    return dialIoredis(this.#client, options, 0, events, signal);
  }

  dialPrimary(address: Address, events: RawConnectionEvents, signal: AbortSignal): Promise<RawConnection> {
    const { enableTLSForSentinelMode, tls, natMap } = this.#client.options;
    const options = { ...mapped(address, natMap), tls: enableTLSForSentinelMode === true ? tls : undefined };
    return this.#driver.dial(events, signal, options);
  }
}

/** The caller must have made sure that the client is one of ioredis: see `adapt.ts`. */
export function driveIoredis(client: object, timers: TimerQueue): Driver {
  const ioredis = asIoredis(client);
  const hasSentinels = Array.isArray(ioredis.options['sentinels']);
  return hasSentinels ? new PrimaryDriver(new IoredisSentinels(ioredis), timers) : new IoredisDriver(ioredis);
}

function addressOf(sentinel: unknown): Address {
  const { host, port } = (sentinel ?? {}) as Partial<Record<'host' | 'port', unknown>>;
  return { host: String(host ?? 'localhost'), port: Number(port ?? SENTINEL_PORT) };
}

/** Where a server is seen from here, when the sentinels see it elsewhere. */
function mapped(address: Address, map: unknown): object {
  const key = `${address.host}:${address.port}`;
  // The caller's own, as its client takes it.
  if (typeof map === 'function') return (map as (key: string) => object | null)(key) ?? address;
  if (typeof map === 'object' && map !== null) return (map as Record<string, object>)[key] ?? address;
  return address;
}
