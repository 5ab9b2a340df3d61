/** Reads the state now and then while another monitor leads, for the page, and to know what was if the state is lost. */
import type { Clock } from 'holdfast';
import type { SettingsHolder } from './config/holder.ts';
import { describeError } from './delivery/attempt.ts';
import { Nap } from './delivery/nap.ts';
import { Ledger } from './lead/ledger.ts';
import type { StateHealth } from './lead/state-health.ts';
import type { Memory } from './lead/term.ts';
import type { Mute } from './machine/mute.ts';
import type { AlertStore } from './state/store.ts';

const EVERY_MS = 2_000;

export class Standby {
  readonly #store: AlertStore;
  readonly #settings: SettingsHolder;
  readonly #clock: Clock;
  readonly #health: StateHealth;
  #memory: Memory = { alerts: new Map(), incidents: 0, outboxes: new Map() };
  #mutes: readonly Mute[] = [];
  #ledger: Ledger = new Ledger({ outboxes: new Map(), outcomes: [] });
  #offsetMs: number;

  constructor(store: AlertStore, settings: SettingsHolder, clock: Clock, health: StateHealth) {
    this.#store = store;
    this.#settings = settings;
    this.#clock = clock;
    this.#health = health;
    this.#offsetMs = clock.wallMs() - clock.monotonicMs();
  }

  get alerts(): Memory['alerts'] {
    return this.#memory.alerts;
  }

  get mutes(): readonly Mute[] {
    return this.#mutes;
  }

  get ledger(): Ledger {
    return this.#ledger;
  }

  /** The time of the state; our own until it has been read. */
  get nowMs(): number {
    return Math.floor(this.#clock.monotonicMs() + this.#offsetMs);
  }

  /** Until the signal aborts. Reads only while `isStandingBy`. Never rejects. */
  async run(
    signal: AbortSignal,
    isStandingBy: () => boolean,
    onRead: (memory: Memory) => void,
  ): Promise<void> {
    const nap = new Nap(this.#clock);
    while (!signal.aborted) {
      if (isStandingBy()) await this.#read(isStandingBy, onRead);
      await nap.sleep(EVERY_MS, signal);
    }
  }

  async #read(isStandingBy: () => boolean, onRead: (memory: Memory) => void): Promise<void> {
    try {
      const receivers = this.#settings.current.receivers.map(({ name }) => name);
      const snapshot = await this.#store.peek(receivers);
      this.#health.answered();
      this.#offsetMs = snapshot.nowMs - this.#clock.monotonicMs();
      // A state that was lost says nothing of what was; this process may be the one to restore it.
      if (!isStandingBy() || snapshot.revision === 0) return;
      this.#memory = snapshot;
      this.#mutes = snapshot.mutes;
      this.#ledger = new Ledger(snapshot);
      onRead(snapshot);
    } catch (error) {
      this.#health.failed(describeError(error, []));
    }
  }
}
