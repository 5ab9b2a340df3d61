/**
 * One term of a leader: from `begin`, which reads the state under its fence, to the loss of the lock, a new configuration,
 * or a younger leader. Each tick judges the figures, decides, and writes the decision; couriers deliver beside it.
 */
import type { Clock } from 'holdfast';
import type { Figures } from '../../figures.ts';
import type { AlertSettings, Receiver } from '../config/settings.ts';
import type { Attempt } from '../delivery/attempt.ts';
import { Courier, HIDDEN_MS } from '../delivery/courier.ts';
import { announce } from '../machine/announce.ts';
import { isInForce, type Mute } from '../machine/mute.ts';
import type { Notice } from '../machine/notice.ts';
import { type MachineState, step } from '../machine/step.ts';
import type { Judge } from '../rules/judge.ts';
import type { AlertStore, Decision } from '../state/store.ts';
import type { QueuedDelivery, Snapshot, Spoken } from '../state/stored.ts';
import { compose } from './compose.ts';
import { Ledger } from './ledger.ts';
import { takeSpoken } from './spoken.ts';

export interface TermSurroundings {
  readonly store: AlertStore;
  readonly judge: Judge;
  readonly clock: Clock;
  chance(): number;
  /** A token that no other decision has. */
  token(): string;
  send(receiver: Receiver, notice: Notice, settings: AlertSettings): Promise<Attempt>;
  log(line: string): void;
  /** @default the limit of a try and time to settle it */
  readonly hiddenMs?: number;
  /** An outcome of a delivery changed what the page shows. */
  onOutcome(): void;
}

/** What this process knows of the state from before, in case the state was lost. */
export type Memory = Pick<Snapshot, 'alerts' | 'incidents' | 'outboxes'>;

/** What was decided and is not known to be written. It is sent again until it is known. */
interface Draft {
  readonly token: string;
  readonly decision: Decision | null;
  readonly next: MachineState;
}

export class LeaderTerm {
  readonly settings: AlertSettings;
  readonly ledger: Ledger;
  readonly #around: TermSurroundings;
  readonly #fence: number;
  readonly #couriers: ReadonlyMap<string, Courier>;
  #machine: MachineState;
  #revision: number;
  #mutes: readonly Mute[];
  #spoken: readonly Spoken[];
  #orphans: readonly QueuedDelivery[];
  /** Messages of a state that was lost, to be queued anew. */
  #rescued: readonly QueuedDelivery[] = [];
  /** The alerts as they are in Redis. */
  #written: MachineState['alerts'];
  #draft: Draft | null = null;
  /** The server's clock less our monotonic one. */
  #offsetMs: number;

  private constructor(around: TermSurroundings, fence: number, settings: AlertSettings, snapshot: Snapshot) {
    this.#around = around;
    this.#fence = fence;
    this.settings = settings;
    this.ledger = new Ledger(snapshot);
    this.#machine = snapshot;
    this.#written = snapshot.alerts;
    this.#revision = snapshot.revision;
    this.#mutes = snapshot.mutes;
    this.#spoken = snapshot.spoken;
    this.#orphans = snapshot.orphans;
    this.#offsetMs = snapshot.nowMs - around.clock.monotonicMs();
    this.#couriers = new Map(settings.receivers.map((receiver) => [receiver.name, this.#courier(receiver)]));
  }

  /**
   * A state that is empty although this process knows one was lost, with a server that forgets. Its alerts go on, so that
   * receivers hear of their ends, and its messages are queued anew.
   */
  static async begin(
    around: TermSurroundings,
    fence: number,
    settings: AlertSettings,
    memory: Memory | null,
  ): Promise<LeaderTerm> {
    const receivers = settings.receivers.map(({ name }) => name);
    const snapshot = await around.store.begin(fence, receivers);
    const term = new LeaderTerm(around, fence, settings, snapshot);
    if (snapshot.revision === 0 && memory !== null && memory.incidents > 0) {
      around.log('the state of the alerts was lost; it goes on as this monitor knows it');
      term.#machine = memory;
      term.#rescued = receivers.flatMap((receiver) => memory.outboxes.get(receiver) ?? []);
    }
    return term;
  }

  get alerts(): MachineState['alerts'] {
    return this.#machine.alerts;
  }

  get memory(): Memory {
    const { alerts, incidents } = this.#machine;
    return { alerts, incidents, outboxes: this.ledger.outboxes };
  }

  get mutes(): readonly Mute[] {
    return this.#mutes;
  }

  /** The time of the Redis that holds the state. */
  get nowMs(): number {
    return Math.floor(this.#around.clock.monotonicMs() + this.#offsetMs);
  }

  /** Delivers until the signal aborts. */
  async deliver(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#couriers.values()].map((courier) => courier.run(signal)));
  }

  /** Nothing waits for this receiver, and nothing is on its way to it. */
  isIdle(receiver: string): boolean {
    const isEmpty = (this.ledger.outboxes.get(receiver) ?? []).length === 0;
    return isEmpty && this.#couriers.get(receiver)?.sending === null;
  }

  /** Rejects when the state cannot be written; the next tick tries the same decision again. */
  async tick(figures: Figures, own: { configRefusal: string | null; startedAt: number }): Promise<void> {
    this.#draft ??= this.#think(figures, own);
    const { token, decision, next } = this.#draft;
    const decided = await this.#around.store.decide(this.#fence, this.#revision, token, decision);
    this.#draft = null;
    this.#machine = next;
    this.#written = next.alerts;
    this.#revision = decided.revision;
    this.#mutes = decided.mutes;
    this.#spoken = decided.spoken;
    this.#offsetMs = decided.nowMs - this.#around.clock.monotonicMs();
    if (decision === null) return;
    this.#orphans = [];
    this.#rescued = [];
    for (const receiver of this.ledger.apply(decision)) this.#couriers.get(receiver)?.wake();
  }

  #think(figures: Figures, own: { configRefusal: string | null; startedAt: number }): Draft {
    const { settings, nowMs } = this;
    const waiting = this.ledger.waiting(nowMs);
    const known = takeSpoken(this.#machine, this.#spoken);
    const judgements = this.#around.judge.look(figures, { ...own, waiting }, [...known.alerts.values()]);
    const { alerts, incidents, dropped } = step(known, judgements, settings, nowMs);
    if (dropped > 0) this.#around.log(`${dropped} alerts more than can be kept are left out`);
    const mutes = this.#mutes.filter((mute) => isInForce(mute, nowMs));
    const { announcements, changed } = announce(alerts, mutes, settings, nowMs);
    const after = new Map([...alerts, ...changed.map((alert) => [alert.fingerprint, alert] as const)]);
    const decision = compose({
      before: this.#written,
      after,
      incidents,
      announcements,
      settings,
      waiting: this.#notOnTheirWay(),
      orphans: this.#orphans,
      rescued: this.#rescued,
      endedMutes: this.#mutes.filter((mute) => !mutes.includes(mute)).map(({ id }) => id),
      takenOutage: this.#spoken.map(({ fingerprint }) => fingerprint),
      revision: this.#revision,
      nowMs,
    });
    return { token: this.#around.token(), decision, next: { alerts: after, incidents } };
  }

  #notOnTheirWay(): Map<string, QueuedDelivery[]> {
    return new Map(
      [...this.ledger.outboxes].map(([receiver, queue]) => {
        const sending = this.#couriers.get(receiver)?.sending;
        return [receiver, queue.filter(({ id }) => id !== sending)];
      }),
    );
  }

  #courier(receiver: Receiver): Courier {
    const { store, clock, log, chance, onOutcome, hiddenMs = HIDDEN_MS } = this.#around;
    return new Courier({
      receiver,
      store,
      fence: this.#fence,
      clock,
      chance,
      hiddenMs,
      send: (notice) => this.#around.send(receiver, notice, this.settings),
      onOutcome: (outcome, retryMs) => {
        this.ledger.settle(outcome, retryMs);
        onOutcome();
      },
      log,
    });
  }
}
