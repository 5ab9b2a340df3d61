/**
 * In this folder: finding the primary that sentinels name, which may be another server for each connection, and
 * leaving it when the sentinels name another. The search is ours because clients resend commands and hide what became
 * of them. Only the adapters `clients/ioredis/` and `clients/node-redis/` import from here: each tells how its client
 * connects (`Sentinels`).
 */

import { LockConfigError } from '../../errors.ts';
import type { TimerQueue } from '../../runtime/timer-queue.ts';
import {
  CONNECT_MS_MAX,
  type Driver,
  type RawConnection,
  type RawConnectionEvents,
} from '../connection/raw-connection.ts';
import { ignoreRefusal } from '../connection/reply-errors.ts';
import { type Address, isSame } from './address.ts';
import { PrimaryMemory } from './primary-memory.ts';
import { PrimaryWatch } from './primary-watch.ts';
import { PrimarySearch, type SearchTools, type Sentinels } from './search.ts';

/** A part of the time that a connection may take is left for the primary itself. */
const SEARCH_MS_MAX = CONNECT_MS_MAX - 1_000;

/** A connection to the primary, or an attempt at one. */
interface Route {
  /** The server that it leads to; null while the search is on, which hears of another primary by itself. */
  address: Address | null;
  readonly lost: (cause: unknown) => void;
}

export class PrimaryDriver implements Driver {
  readonly description: string;
  readonly keyPrefix: string;
  readonly #sentinels: Sentinels;
  readonly #tools: SearchTools;
  readonly #routes = new Set<Route>();
  readonly #watch: PrimaryWatch;

  constructor(sentinels: Sentinels, timers: TimerQueue) {
    if (sentinels.addresses.length === 0) {
      throw new LockConfigError(`expected at least one sentinel for ${sentinels.name}, got none`);
    }
    this.description = sentinels.description;
    this.keyPrefix = sentinels.keyPrefix;
    this.#sentinels = sentinels;
    const isInUse = (): boolean => [...this.#routes].some(({ address }) => address !== null);
    const memory = new PrimaryMemory(timers.clock, isInUse);
    this.#tools = { timers, memory, limitMs: SEARCH_MS_MAX };
    this.#watch = new PrimaryWatch(sentinels, timers, memory, (primary) => this.#leaveOthers(primary));
  }

  async dial(events: RawConnectionEvents, signal: AbortSignal): Promise<RawConnection> {
    const search = new PrimarySearch(this.#sentinels, this.#tools);
    const route: Route = { address: null, lost: events.lost };
    this.#routes.add(route);
    signal.addEventListener(
      'abort',
      () => {
        search.cancel();
        this.#forget(route);
      },
      { once: true },
    );
    const address = await search.result;
    signal.throwIfAborted();
    route.address = address;
    const dialling = this.#sentinels.dialPrimary(address, events, signal);
    this.#watch.open();
    this.#leaveOthers(address);
    const raw = await dialling;
    await checkRole(raw, address);
    return raw;
  }

  #forget(route: Route): void {
    this.#routes.delete(route);
    if (this.#routes.size === 0) this.#watch.close();
  }

  /** This server is the primary: connections to any other are lost. */
  #leaveOthers({ host, port }: Address): void {
    for (const { address, lost } of [...this.#routes]) {
      if (address === null || isSame(address, { host, port })) continue;
      lost(new Error(`the primary is ${host}:${port} now, no longer ${address.host}:${address.port}`));
    }
  }
}

/** Sentinels may name a server that is no longer the primary, or not yet. */
async function checkRole(raw: RawConnection, { host, port }: Address): Promise<void> {
  const reply = await raw.command(['ROLE']).catch(ignoreRefusal);
  const role = Array.isArray(reply) ? String(reply[0]) : 'master';
  if (role !== 'master') throw new Error(`the sentinels name ${host}:${port}, whose role is ${role}`);
}
