/** Connections to the primary that sentinels name, which may be another server each time. */

import { LockConfigError } from '../../errors.ts';
import type { TimerQueue } from '../../runtime/timer-queue.ts';
import type { ScriptCall } from '../client.ts';
import { CONNECT_MS_MAX, type Driver, type Wire, type WireEvents } from '../connection/raw-connection.ts';
import { ignoreRefusal } from '../connection/reply-errors.ts';
import { PrimaryMemory } from './primary-memory.ts';
import { PrimaryWatch } from './primary-watch.ts';
import { type Address, isSame, PrimarySearch, type SearchTools, type Sentinels } from './search.ts';

/** Of the time that a connection may take, a part is left for the primary itself. */
const SEARCH_MS_MAX = CONNECT_MS_MAX - 1_000;

/** What a wire tells the driver that made it. */
interface WireHost {
  found(primary: Address): void;
  dropped(wire: PrimaryWire): void;
}

class PrimaryWire implements Wire {
  readonly #sentinels: Sentinels;
  readonly #search: PrimarySearch;
  readonly #events: WireEvents;
  readonly #host: WireHost;
  #address: Address | null = null;
  #wire: Wire | null = null;
  #isHeld = true;
  #isDropped = false;

  constructor(sentinels: Sentinels, tools: SearchTools, events: WireEvents, host: WireHost) {
    this.#sentinels = sentinels;
    this.#events = events;
    this.#host = host;
    this.#search = new PrimarySearch(sentinels, tools);
    // Nobody may be waiting for it when it fails.
    this.#search.result.catch(() => {});
  }

  async connect(): Promise<void> {
    const address = await this.#search.result;
    if (this.#isDropped) return;
    this.#address = address;
    const wire = this.#sentinels.dialPrimary(address, this.#events);
    this.#wire = wire;
    this.#host.found(address);
    const connecting = wire.connect();
    wire.hold(this.#isHeld);
    await connecting;
    await this.#checkRole(wire, address);
  }

  /** Sentinels may name a server that has lost its office, or has not got it yet. */
  async #checkRole(wire: Wire, { host, port }: Address): Promise<void> {
    const reply = await wire.command(['ROLE']).catch(ignoreRefusal);
    const role = Array.isArray(reply) ? String(reply[0]) : 'master';
    if (role !== 'master') throw new Error(`the sentinels name ${host}:${port}, whose role is ${role}`);
  }

  /** Whether it leads to a server, or is on its way there. */
  get isLed(): boolean {
    return this.#address !== null;
  }

  /** Another server may be the primary now. While it is still being looked for, the search knows that as well. */
  hear(primary: Address): void {
    const address = this.#address;
    if (address === null || isSame(address, primary)) return;
    const where = `${primary.host}:${primary.port}`;
    this.#events.lost(new Error(`the primary is ${where} now, no longer ${address.host}:${address.port}`));
  }

  send(call: ScriptCall, isByText: boolean, isBusy: boolean): Promise<unknown> {
    return this.#connected.send(call, isByText, isBusy);
  }

  command(args: readonly string[]): Promise<unknown> {
    return this.#connected.command(args);
  }

  subscribe(channel: string): Promise<unknown> {
    return this.#connected.subscribe(channel);
  }

  unsubscribe(channel: string): Promise<unknown> {
    return this.#connected.unsubscribe(channel);
  }

  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#wire?.hold(isHeld);
  }

  drop(): void {
    this.#isDropped = true;
    this.#search.cancel();
    this.#wire?.drop();
    this.#host.dropped(this);
  }

  get #connected(): Wire {
    if (this.#wire === null) throw new Error('the primary has not been found yet');
    return this.#wire;
  }
}

export class PrimaryDriver implements Driver {
  readonly description: string;
  readonly keyPrefix: string;
  readonly #sentinels: Sentinels;
  readonly #tools: SearchTools;
  readonly #wires = new Set<PrimaryWire>();
  readonly #watch: PrimaryWatch;

  constructor(sentinels: Sentinels, timers: TimerQueue) {
    if (sentinels.addresses.length === 0) {
      throw new LockConfigError(`expected at least one sentinel for ${sentinels.name}, got none`);
    }
    this.description = sentinels.description;
    this.keyPrefix = sentinels.keyPrefix;
    this.#sentinels = sentinels;
    const memory = new PrimaryMemory(timers.clock, () => [...this.#wires].some((wire) => wire.isLed));
    this.#tools = { timers, memory, limitMs: SEARCH_MS_MAX };
    this.#watch = new PrimaryWatch(sentinels, timers, memory, (primary) => this.#tell(primary));
  }

  dial(events: WireEvents): Wire {
    const wire = new PrimaryWire(this.#sentinels, this.#tools, events, {
      found: (primary) => {
        this.#watch.open();
        this.#tell(primary);
      },
      dropped: (dropped) => {
        this.#wires.delete(dropped);
        if (this.#wires.size === 0) this.#watch.close();
      },
    });
    this.#wires.add(wire);
    return wire;
  }

  #tell(primary: Address): void {
    for (const wire of [...this.#wires]) wire.hear(primary);
  }
}
