/**
 * The alerts of one monitor: judges the figures, leads or stands by, delivers, and tells the page. Every monitor of a fleet
 * runs one; `lead/leadership.ts` decides which of them acts.
 *
 * In this folder: the alerts as the rest of the monitor sees them (`index.ts`), this engine, and what the page is
 * shown. Each step from a figure to a message has a folder below. Only `monitor.ts`, `options.ts` and `index.ts`
 * import from here.
 */
import { randomUUID } from 'node:crypto';
import type { Clock, Locks } from 'holdfast';
import type { AlertEngine, AlertOrder, AlertSurroundings, Metric } from '../alert-source.ts';
import type { AlertPage, AlertView, PlottedLimits } from '../api/types.ts';
import type { SettingsHolder } from './config/holder.ts';
import { Leadership } from './lead/leadership.ts';
import { OutageVoice } from './lead/outage.ts';
import { StateHealth } from './lead/state-health.ts';
import { fits, type Mute } from './machine/mute.ts';
import { alertMetrics } from './metrics.ts';
import { readPast } from './past.ts';
import { senderWith } from './receivers/send.ts';
import { Standby } from './standby.ts';
import { AlertStore } from './state/store.ts';
import { limitsOf, muteView, viewsOf } from './views.ts';

export interface EngineOptions {
  readonly settings: SettingsHolder;
  /** On the Redis that holds the state. The engine takes one lock with it and does not close it. */
  readonly locks: Locks;
  readonly clock: Clock;
  /** The lease of the leader's lock. */
  readonly leaseMs: number;
  /** 0 to 1. */
  chance(): number;
  /** One line for the standard output, of a receiver `stdout`. */
  print(line: string): void;
}

export class Alerts implements AlertEngine {
  readonly #around: AlertSurroundings;
  readonly #options: EngineOptions;
  readonly #store: AlertStore;
  readonly #health: StateHealth;
  readonly #leadership: Leadership;
  readonly #standby: Standby;
  readonly #outage: OutageVoice;
  readonly #closing = new AbortController();
  readonly #listeners = new Set<() => void>();
  #shown = '';
  #running: Promise<unknown> = Promise.resolve();

  constructor(around: AlertSurroundings, options: EngineOptions) {
    const { clock, settings, locks, chance, print } = options;
    const { state, fleet, figures } = around;
    const log = (line: string): void => around.log(line);
    this.#around = around;
    this.#options = options;
    this.#store = new AlertStore(state, fleet, clock);
    this.#health = new StateHealth(clock);
    this.#outage = new OutageVoice({ clock, chance, print, log });
    const onChange = (): void => this.#changed();
    this.#leadership = new Leadership({
      lock: locks.lock(this.#store.keys.leader),
      leaseMs: options.leaseMs,
      settings,
      figures,
      health: this.#health,
      clock,
      startedAt: clock.wallMs(),
      onChange,
      term: {
        store: this.#store,
        clock,
        chance,
        token: () => randomUUID(),
        send: senderWith(clock, print),
        log,
        onOutcome: onChange,
      },
    });
    this.#standby = new Standby(this.#store, settings, clock, this.#health);
  }

  start(): void {
    const { signal } = this.#closing;
    const forget = this.#around.figures.onTick(() => this.#speakUp());
    signal.addEventListener('abort', forget, { once: true });
    const standingBy = this.#standby.run(
      signal,
      () => this.#leadership.term === null,
      (memory) => {
        this.#leadership.noteOther(memory);
        this.#changed();
      },
    );
    this.#running = Promise.all([this.#leadership.run(signal), standingBy]);
  }

  /** Gives up the lead, so that another monitor takes over at once. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#outage.close();
    await this.#running;
  }

  get isLeading(): boolean {
    return this.#leadership.term !== null;
  }

  limits(): PlottedLimits {
    return limitsOf(this.#options.settings.current);
  }

  views(): readonly AlertView[] {
    return viewsOf(this.#picture());
  }

  async page(before: string | null): Promise<AlertPage> {
    const { aheadMs, mutes } = this.#picture();
    const { past, next } = await readPast(this.#store, before, aheadMs);
    const active = before === null ? this.views() : [];
    const silences = mutes
      .filter(({ kind }) => kind === 'silence')
      .flatMap((mute) => muteView(mute, aheadMs) ?? []);
    return { active, past, silences, next };
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  silence(order: AlertOrder): Promise<number> {
    return this.#mute('silence', order);
  }

  ack(order: AlertOrder): Promise<number> {
    return this.#mute('ack', order);
  }

  metrics(): readonly Metric[] {
    const { current, refusal } = this.#options.settings;
    const { ledger, nowMs } = this.#picture();
    return alertMetrics({
      fleet: current.fleet,
      views: this.views(),
      waiting: ledger.waiting(nowMs),
      isConfigGood: refusal === null,
      isLeading: this.isLeading,
      isStateAway: this.#health.isAway,
    });
  }

  async #mute(kind: Mute['kind'], { match, until, reason, by }: AlertOrder): Promise<number> {
    const { aheadMs, nowMs, alerts } = this.#picture();
    const mute: Mute = { id: randomUUID(), kind, match, by, reason, atMs: nowMs, untilMs: until - aheadMs };
    if (!(mute.untilMs > nowMs)) throw new RangeError(`expected an end in the future, got ${until}`);
    await this.#store.addMute(mute);
    return [...alerts.values()].filter((alert) => fits(match, alert)).length;
  }

  /** What is known now: of the leader itself, or of the last look at the state. */
  #picture() {
    const { clock, settings } = this.#options;
    const { receivers } = settings.current;
    const { term } = this.#leadership;
    const { alerts, mutes, ledger, nowMs } = term ?? this.#standby;
    return { alerts, mutes, ledger, receivers, nowMs, aheadMs: clock.wallMs() - nowMs };
  }

  #speakUp(): void {
    const { settings } = this.#options;
    const away = this.#health.isAway ? (this.#health.reason ?? 'no answer') : null;
    const { alerts, nowMs } = this.#picture();
    const situation = { away, ledLast: this.#leadership.ledLast, known: alerts };
    this.#outage.tick(this.#around.figures.read(), situation, settings.current, nowMs);
    if (away !== null) return;
    for (const spoken of this.#outage.takeSpoken())
      this.#store.addSpoken(spoken).catch(() => this.#outage.giveBack(spoken));
  }

  /** Listeners are told when what the page shows has changed, and not of every tick. */
  #changed(): void {
    const shown = JSON.stringify(this.views().map((view) => ({ ...view, summary: '' })));
    if (shown === this.#shown) return;
    this.#shown = shown;
    for (const listener of this.#listeners) listener();
  }
}
