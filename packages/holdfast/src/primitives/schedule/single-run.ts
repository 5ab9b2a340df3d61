/**
 * One run of a job, for a program that something else starts: a crontab, an operator. Either for the present slot, unless
 * the slot has had its run, or now, outside of any schedule.
 */
import { LockClosedError, LockTimeoutError } from '../../errors.ts';
import type { Session } from '../../locking/session.ts';
import type { ResolvedSingleRun } from '../../options/single-run-options.ts';
import { Backoff } from '../../runtime/backoff.ts';
import { onAbort } from '../../runtime/on-abort.ts';
import { inMs, quote } from '../../runtime/printable.ts';
import { KeepAlive } from '../keep-alive.ts';
import { endInOrder } from '../orderly-end.ts';
import { JobAsker } from './job-asker.ts';
import { type JobBody, type JobResult, RunningJob } from './job-run.ts';
import type { SkipReason } from './schedule-events.ts';
import { type Slots, slotsOf } from './slots.ts';
import { afterAnswer, type StartAnswer } from './start.ts';

/** What `runJob` did. */
export type SingleRun =
  | ({ readonly ran: true } & JobResult)
  | {
      readonly ran: false;
      readonly slot: Date;
      readonly reason: SkipReason;
      readonly host: string | undefined;
    };

/** A machine whose clock is ahead of the server's waits for the slot that it was started for. */
const EARLY_MS_MAX = 60_000;
const EARLY_SHARE = 0.1;
const LOOK_MS_MAX = 1_000;
/** A server whose replies contradict each other is not asked in a loop. */
const LOOK_MS_MIN = 10;
const BUSY_RANGE = { minMs: 50, maxMs: 1_000 };

export class SingleJob {
  readonly #session: Session;
  readonly #options: ResolvedSingleRun;
  readonly #body: JobBody;
  readonly #asker: JobAsker;
  readonly #slots: Slots | null;
  readonly #backoff: Backoff;
  readonly #name: string;
  #running: RunningJob | null = null;
  readonly #startedMs: number;

  constructor(
    session: Session,
    { name, key }: { readonly name: string; readonly key: string },
    options: ResolvedSingleRun,
    body: JobBody,
  ) {
    this.#session = session;
    this.#name = name;
    this.#options = options;
    this.#body = body;
    const { slots, ...rest } = options;
    this.#slots = slots === null ? null : slotsOf({ ...rest, slots });
    this.#asker = new JobAsker(session, { name, key, leaseMs: options.leaseMs });
    this.#backoff = new Backoff(session.options.random, BUSY_RANGE);
    this.#startedMs = session.timers.clock.monotonicMs();
  }

  async run(): Promise<SingleRun> {
    const { signal } = this.#options;
    const stop = (reason: unknown): void => {
      this.#asker.stop();
      this.#running?.abort(reason);
    };
    const stopHearing = signal === undefined ? () => {} : onAbort(signal, () => stop(signal.reason));
    const keepAlive = new KeepAlive(this.#session.timers);
    keepAlive.start();
    const running = this.#run();
    const halt = (): void => stop(this.#closed());
    const close = (graceMs: number): Promise<void> => {
      this.#asker.stop();
      return endInOrder(this.#session.timers, graceMs, {
        ended: running.catch(() => {}),
        tell: halt,
        leaveToLease: () => {
          this.#running?.leaveToLease();
          // A body that never ends keeps no process alive behind `close`.
          keepAlive.stop();
        },
      });
    };
    const leave = this.#session.serve({
      close,
      halt: () => {
        halt();
        keepAlive.stop();
      },
    });
    try {
      return await running;
    } finally {
      stopHearing();
      keepAlive.stop();
      leave();
    }
  }

  async #run(): Promise<SingleRun> {
    for (;;) {
      this.#options.signal?.throwIfAborted();
      this.#session.assertOpen(this.#name);
      const slotMs = this.#slots === null ? 0 : await this.#slotNow(this.#slots);
      const end = await this.#offer(slotMs);
      if (end !== null) return end;
    }
  }

  /** The slot of this moment, or the next if that is near: a lone machine that is ahead would otherwise skip every slot. */
  async #slotNow(slots: Slots): Promise<number> {
    const sample = await this.#asker.sample();
    if ('error' in sample) throw sample.error;
    const { time } = this.#asker;
    const nowMs = time.nowMs ?? 0;
    const slotMs = slots.newestAt(nowMs);
    const nextMs = slots.after(nowMs);
    if (nextMs === null) return slotMs ?? nowMs;
    const gapMs = nextMs - (slotMs ?? nowMs);
    const earlyMs = this.#options.earlyMs ?? Math.min(EARLY_MS_MAX, Math.floor(gapMs * EARLY_SHARE));
    if (slotMs !== null && nextMs - nowMs > earlyMs) return slotMs;
    while (!this.#asker.isStopped && (time.nowMs ?? 0) < nextMs) {
      await this.#asker.sleep(Math.min(nextMs - (time.nowMs ?? 0), LOOK_MS_MAX));
    }
    return nextMs;
  }

  /** Null: the slot is not the newest any more, or the server's clock says otherwise. */
  async #offer(slotMs: number): Promise<SingleRun | null> {
    const { attempts, lateMs, atLeastMs, atMostMs } = this.#options;
    const slots = this.#slots;
    const nextMs = slots === null ? null : slots.after(slotMs);
    const spec = slots?.spec ?? '';
    const stated = { slotMs, nextMs: nextMs ?? 0, lateMs: lateMs ?? -1, restMs: atLeastMs };
    const terms = { ...stated, attempts, isKnown: true, spec };
    const { outageMs } = this.#session.options;
    const askedMs = this.#nowMs();
    for (;;) {
      const result = await this.#asker.ask(terms, () => this.#nowMs() - askedMs < outageMs);
      if (result.is === 'failed') {
        this.#options.signal?.throwIfAborted();
        throw result.error;
      }
      if (result.is === 'started') {
        if (this.#asker.isStopped) {
          this.#asker.withdraw(result);
          return null;
        }
        const limits = { attempts, atMostMs, host: this.#asker.host };
        this.#running = new RunningJob(this.#session, result, limits, this.#asker.time);
        const ended = await this.#running.run(this.#body);
        this.#running = null;
        if (ended.isRetried && !this.#asker.isStopped) continue;
        return { ran: true, ...ended };
      }
      const next = this.#after(result.answer, slotMs);
      if (next !== null && typeof next !== 'number') return next;
      await this.#asker.sleep(next ?? LOOK_MS_MIN);
      if (next === null || this.#asker.isStopped) return null;
    }
  }

  /** How the slot ended, how long until it is asked for again, or null to look at the time anew. */
  #after(answer: StartAnswer, slotMs: number): SingleRun | number | null {
    if (answer.is === 'HELD') return this.#busy(slotMs, answer);
    const next = afterAnswer(answer, slotMs, this.#options.attempts, LOOK_MS_MAX);
    return next === null || typeof next === 'number' ? next : this.#skip(next.slotMs, next.reason, next.host);
  }

  /** An earlier run is at work. */
  #busy(slotMs: number, { nowMs, ttlMs, owner }: Extract<StartAnswer, { is: 'HELD' }>): SingleRun | number {
    const { waitMs, lateMs } = this.#options;
    const waitedMs = this.#nowMs() - this.#startedMs;
    const isOver = waitedMs >= waitMs || (slotMs > 0 && lateMs !== null && nowMs > slotMs + lateMs);
    if (!isOver) return Math.min(this.#backoff.nextMs(), waitMs - waitedMs);
    if (slotMs > 0) return this.#skip(slotMs, 'busy', '');
    const message = `job ${quote(this.#name)}: waited ${inMs(waitedMs)} and did not get it; an earlier run is at work`;
    throw new LockTimeoutError(message, { lock: this.#name, elapsedMs: waitedMs, holder: { owner, ttlMs } });
  }

  #skip(slotMs: number, reason: SkipReason, host: string): SingleRun {
    this.#asker.tellSkipped(slotMs, reason);
    return { ran: false, slot: new Date(slotMs), reason, host: host === '' ? undefined : host };
  }

  #closed(): LockClosedError {
    return new LockClosedError(`job ${quote(this.#name)}: this Locks has been closed`, { lock: this.#name });
  }

  #nowMs(): number {
    return this.#session.timers.clock.monotonicMs();
  }
}
