/**
 * One of several monitors leads: the one that holds the lock of the fleet. The fence of its lock goes with all it writes.
 * A leader that dies is replaced when its lease ends; one that closes is replaced at once.
 *
 * In this folder: what only the leader does: a term, its decisions, its heartbeat; and what every monitor does while
 * the state is away (`outage.ts`). Only `alerts/` imports from here.
 */
import type { Clock, FencedLease, Lock } from 'holdfast';
import type { FiguresSource } from '../../figures.ts';
import type { SettingsHolder } from '../config/holder.ts';
import { describeError } from '../delivery/attempt.ts';
import { Nap } from '../delivery/nap.ts';
import { Judge } from '../rules/judge.ts';
import { StaleLeaderError, StateConflictError } from '../state/store.ts';
import { Beats } from './beats.ts';
import type { StateHealth } from './state-health.ts';
import { LeaderTerm, type Memory, type TermSurroundings } from './term.ts';

/** After a failure to get the lock or to begin. */
const RETRY_MS = 1_000;

/** The figures come about once a second; this is for a sampler that stopped. */
const TICK_MS_MAX = 2_000;

export interface LeadershipSurroundings {
  readonly lock: Lock;
  readonly leaseMs: number;
  readonly settings: SettingsHolder;
  readonly figures: FiguresSource;
  readonly health: StateHealth;
  readonly clock: Clock;
  readonly term: Omit<TermSurroundings, 'judge'>;
  readonly startedAt: number;
  /** What the page shows may have changed. */
  onChange(): void;
}

export class Leadership {
  readonly #around: LeadershipSurroundings;
  readonly #nap: Nap;
  /** Over all terms: it remembers the minutes before. */
  readonly #judge = new Judge();
  #term: LeaderTerm | null = null;
  #memory: Memory | null = null;
  #ledLast = false;

  constructor(around: LeadershipSurroundings) {
    this.#around = around;
    this.#nap = new Nap(around.clock);
  }

  /** Null while another monitor leads. */
  get term(): LeaderTerm | null {
    return this.#term;
  }

  /** Whether this monitor led when the state was last heard of. */
  get ledLast(): boolean {
    return this.#ledLast;
  }

  /** The state was read while another monitor leads. */
  noteOther(memory: Memory): void {
    this.#ledLast = false;
    this.#memory = memory;
  }

  /** Waits for the lock and leads, again and again, until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { lock, term, leaseMs } = this.#around;
    while (!signal.aborted) {
      try {
        const lease = await lock.acquire({ leaseMs, signal });
        term.log(`leads the alerts, fence ${lease.fence}`);
        await this.#reign(lease, signal).finally(() => lease.release().catch(() => false));
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof StaleLeaderError)) this.#around.health.failed(describeError(error, []));
        await this.#nap.sleep(RETRY_MS, signal);
      }
    }
  }

  async #reign(lease: FencedLease, signal: AbortSignal): Promise<void> {
    const { settings, term: around, health } = this.#around;
    while (!signal.aborted && lease.isHeld) {
      const term = await LeaderTerm.begin(
        { ...around, judge: this.#judge },
        lease.fence,
        settings.current,
        this.#memory,
      );
      health.answered();
      const ended = new AbortController();
      const end = (): void => ended.abort();
      const reasons = AbortSignal.any([signal, lease.signal]);
      reasons.addEventListener('abort', end, { once: true });
      const forget = settings.onChange(end);
      if (reasons.aborted) end();
      this.#term = term;
      this.#ledLast = true;
      const deliveries = term.deliver(ended.signal);
      try {
        await this.#work(term, ended.signal);
      } finally {
        end();
        forget();
        reasons.removeEventListener('abort', end);
        this.#memory = term.memory;
        this.#term = null;
        // The next term must not begin with messages on their way that it does not know of.
        if (lease.isHeld) await deliveries;
      }
    }
  }

  /** Until the term ends. Rejects when another monitor leads. */
  async #work(term: LeaderTerm, signal: AbortSignal): Promise<void> {
    const { figures, settings, health, clock, startedAt, onChange } = this.#around;
    const beats = new Beats(term, clock, this.#around.term.log);
    const forget = figures.onTick(() => this.#nap.wake());
    try {
      while (!signal.aborted) {
        try {
          await term.tick(figures.read(), { configRefusal: settings.refusal, startedAt });
          health.answered();
          beats.tick();
          onChange();
        } catch (error) {
          if (error instanceof StateConflictError) return;
          if (error instanceof StaleLeaderError) throw error;
          health.failed(describeError(error, []));
        }
        await this.#nap.sleep(TICK_MS_MAX, signal);
      }
    } finally {
      forget();
    }
  }
}
