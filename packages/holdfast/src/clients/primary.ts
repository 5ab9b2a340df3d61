/** Connections to the primary that sentinels name, which may be another server each time. */
import type { Agenda } from '../core/agenda.ts';
import type { ScriptCall } from './client.ts';
import { PrimaryWatch } from './primary-watch.ts';
import { ignoreRefusal } from './reason.ts';
import { type Address, PrimarySearch, type Sentinels } from './sentinels.ts';
import type { Driver, SharedWire, Wire, WireEvents } from './wire.ts';

/** What a wire tells the driver that made it. */
interface WireHost {
  found(): void;
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

  constructor(sentinels: Sentinels, agenda: Agenda, events: WireEvents, host: WireHost) {
    this.#sentinels = sentinels;
    this.#events = events;
    this.#host = host;
    this.#search = new PrimarySearch(sentinels, agenda);
    // Nobody may be waiting for it when it fails.
    this.#search.result.catch(() => {});
  }

  async connect(): Promise<void> {
    const address = await this.#search.result;
    if (this.#isDropped) return;
    this.#address = address;
    const wire = this.#sentinels.dialPrimary(address, this.#events);
    this.#wire = wire;
    this.#host.found();
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

  /** Another server may be the primary now. */
  hear(primary: Address): void {
    const address = this.#address;
    if (address === null || (address.host === primary.host && address.port === primary.port)) return;
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
  readonly #agenda: Agenda;
  readonly #wires = new Set<PrimaryWire>();
  readonly #watch: PrimaryWatch;

  constructor(sentinels: Sentinels, agenda: Agenda) {
    this.description = sentinels.description;
    this.keyPrefix = sentinels.keyPrefix;
    this.#sentinels = sentinels;
    this.#agenda = agenda;
    this.#watch = new PrimaryWatch(sentinels, agenda, (primary) => {
      for (const wire of [...this.#wires]) wire.hear(primary);
    });
  }

  dial(events: WireEvents): Wire {
    const wire = new PrimaryWire(this.#sentinels, this.#agenda, events, {
      found: () => this.#watch.open(),
      dropped: (dropped) => {
        this.#wires.delete(dropped);
        if (this.#wires.size === 0) this.#watch.close();
      },
    });
    this.#wires.add(wire);
    return wire;
  }

  share(): SharedWire {
    return this.#sentinels.share();
  }
}
