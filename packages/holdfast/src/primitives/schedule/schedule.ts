/**
 * Runs a job at its slots, on one of all replicas. Every replica sleeps until a slot by the server's time and asks for its
 * start; the script decides who gets it (`lua/job/start.lua`).
 *
 * A wait for a slot is cut into steps: nine tenths of what is left, a minute at most, and a look at the server's clock after
 * each; the last step is a second at most. So neither the clock of this machine nor a step of the server's clock matters.
 */
import { LockClosedError } from '../../errors.ts';
import type { Session, SessionService } from '../../locking/session.ts';
import { checkStopOptions, type ResolvedSchedule, type StopOptions } from '../../options/schedule-options.ts';
import { Backoff } from '../../runtime/backoff.ts';
import { detached } from '../../runtime/detached.ts';
import { quote } from '../../runtime/printable.ts';
import { KeepAlive } from '../keep-alive.ts';
import { Listeners } from '../listeners.ts';
import { endInOrder } from '../orderly-end.ts';
import { JobAsker } from './job-asker.ts';
import type { JobRun } from './job-record.ts';
import { type JobBody, RunningJob } from './job-run.ts';
import type { Schedule, ScheduleEvents, SkipReason } from './schedule-events.ts';
import { lateMsOf, type Slots } from './slots.ts';
import { afterAnswer, type StartAnswer } from './start.ts';

/** The last step of a wait: clocks that agree to 1 % are 10 ms apart after it. */
const LAST_STEP_MS = 1_000;
/** The longest step: the server's clock may be set, and this machine may sleep. */
const STEP_MS_MAX = 60_000;
const STEP_SHARE = 0.9;
/** Two looks at the time are at least this far apart: a server whose replies contradict each other is not asked in a loop. */
const LOOK_MS_MIN = 10;
/** How often a replica looks whether another's run has died. */
const LOOK_MS_MAX = 5_000;
const BUSY_RANGE = { minMs: 50, maxMs: 1_000 };

export class ScheduleHandle implements Schedule, SessionService {
  readonly name: string;
  readonly #session: Session;
  readonly #options: ResolvedSchedule;
  readonly #slots: Slots;
  readonly #body: JobBody;
  readonly #asker: JobAsker;
  readonly #keepAlive: KeepAlive;
  readonly #listeners = new Listeners<ScheduleEvents>();
  readonly #leave: () => void;
  readonly #ended: Promise<void>;
  readonly #differing = new Set<string>();
  /** The newest slot that this process is done with. */
  #handledMs = Number.NEGATIVE_INFINITY;
  #last: JobRun | null = null;
  #running: RunningJob | null = null;
  #stopping: Promise<void> | null = null;

  constructor(
    session: Session,
    { name, key }: { readonly name: string; readonly key: string },
    options: ResolvedSchedule,
    slots: Slots,
    body: JobBody,
  ) {
    this.name = name;
    this.#session = session;
    this.#options = options;
    this.#slots = slots;
    this.#body = body;
    this.#asker = new JobAsker(session, { name, key, leaseMs: options.leaseMs });
    this.#keepAlive = new KeepAlive(session.timers);
    this.#leave = session.serve(this);
    this.#keepAlive.start();
    this.#ended = detached(() => this.#loop());
  }

  get next(): Date | null {
    const { nowMs } = this.#asker.time;
    const nextMs = nowMs === null ? null : this.#slots.after(nowMs);
    return nextMs === null ? null : new Date(nextMs);
  }

  get last(): JobRun | null {
    return this.#last;
  }

  on<Name extends keyof ScheduleEvents>(
    event: Name,
    listener: (event: ScheduleEvents[Name]) => void,
  ): () => void {
    return this.#listeners.add(event, listener);
  }

  async stop(options: StopOptions = {}): Promise<void> {
    return this.close(checkStopOptions(options));
  }

  close(graceMs: number): Promise<void> {
    this.#stopping ??= this.#close(graceMs);
    return this.#stopping;
  }

  async #close(graceMs: number): Promise<void> {
    this.#asker.stop();
    await endInOrder(this.#session.timers, graceMs, {
      ended: this.#ended,
      tell: () => this.#running?.abort(this.#stopped()),
      leaveToLease: () => this.#running?.leaveToLease(),
    });
    this.#end();
  }

  /** The session is destroyed. */
  halt(): void {
    this.#asker.stop();
    this.#running?.abort(this.#stopped());
    this.#end();
  }

  #end(): void {
    this.#keepAlive.stop();
    this.#leave();
  }

  async #loop(): Promise<void> {
    while (!this.#asker.isStopped) {
      const { nowMs } = this.#asker.time;
      if (nowMs === null) await this.#firstSample();
      else {
        const slotMs = this.#slots.newestAt(nowMs);
        if (slotMs !== null && slotMs > this.#handledMs) await this.#offer(slotMs);
        else await this.#sleepUntil(this.#slots.after(nowMs), nowMs);
      }
    }
  }

  async #firstSample(): Promise<void> {
    const backoff = new Backoff(this.#session.options.random);
    for (let isTold = false; !this.#asker.isStopped; await this.#asker.sleep(backoff.nextMs())) {
      const error = await this.#sample();
      if (error === null) return;
      // Once for each outage: the program should know that its job does not run.
      if (!isTold) this.#tellUnasked(error);
      isTold = true;
    }
  }

  async #sample(): Promise<unknown> {
    const sample = await this.#asker.sample();
    if ('error' in sample) return sample.error;
    if (sample.info !== null) this.#last = sample.info.last;
    return null;
  }

  async #sleepUntil(nextMs: number | null, nowMs: number): Promise<void> {
    const leftMs = (nextMs ?? Number.POSITIVE_INFINITY) - nowMs;
    if (leftMs <= LAST_STEP_MS) return this.#asker.sleep(leftMs);
    await this.#asker.sleep(Math.min(leftMs * STEP_SHARE, STEP_MS_MAX));
    // Without an answer the time is counted on from the last one.
    if (!this.#asker.isStopped) await this.#sample();
  }

  /** Asks for the slot until it is run, somebody else's, or no longer the newest. */
  async #offer(slotMs: number): Promise<void> {
    const nextMs = this.#slots.after(slotMs);
    const { missed, attempts, atLeastMs } = this.#options;
    const { time } = this.#asker;
    const lateMs = missed === 'once' ? -1 : lateMsOf(this.#options.lateMs, slotMs, nextMs);
    const terms = {
      slotMs,
      nextMs: nextMs ?? 0,
      lateMs,
      attempts,
      restMs: atLeastMs,
      isKnown: time.hasSeenBefore(slotMs),
      spec: this.#slots.spec,
    };
    const isNewest = (): boolean => nextMs === null || (time.nowMs ?? 0) < nextMs;
    const backoff = new Backoff(this.#session.options.random, BUSY_RANGE);
    while (!this.#asker.isStopped) {
      const result = await this.#asker.ask(terms, isNewest);
      if (result.is === 'failed') {
        this.#handledMs = slotMs;
        if (!this.#asker.isStopped) this.#tellUnasked(result.error);
        return;
      }
      const { answer } = result;
      if ('spec' in answer) this.#compare(answer.spec);
      if (result.is === 'started') {
        if (this.#asker.isStopped) return this.#asker.withdraw(result);
        const isRetried = await this.#runStarted(new RunningJob(this.#session, result, this.#limits, time));
        if (isRetried) continue;
        this.#handledMs = slotMs;
        return;
      }
      const delayMs = this.#delayAfter(answer, slotMs, lateMs, backoff);
      await this.#asker.sleep(delayMs ?? LOOK_MS_MIN);
      if (delayMs === null) return;
    }
  }

  /** How long until the slot is asked for again; null: look at the time anew, or the slot is settled. */
  #delayAfter(answer: StartAnswer, slotMs: number, lateMs: number, backoff: Backoff): number | null {
    if (answer.is === 'HELD') {
      if (lateMs >= 0 && answer.nowMs > slotMs + lateMs) return this.#skip(slotMs, 'busy', '');
      return backoff.nextMs();
    }
    const next = afterAnswer(answer, slotMs, this.#options.attempts, LOOK_MS_MAX);
    // A slot that was passed over is the one that was asked for, whichever newer one the server names.
    return next === null || typeof next === 'number' ? next : this.#skip(slotMs, next.reason, next.host);
  }

  #skip(slotMs: number, reason: SkipReason, host: string): null {
    this.#handledMs = slotMs;
    const slot = new Date(slotMs);
    if (reason !== 'passed' && reason !== 'busy') {
      const known = this.#last?.slot.getTime() === slotMs ? this.#last : NO_RUN;
      this.#last = { ...known, slot, state: reason, host: host === '' ? undefined : host };
    }
    this.#asker.tellSkipped(slotMs, reason);
    this.#listeners.tell('skipped', { slot, reason, host: host === '' ? undefined : host });
    return null;
  }

  /** True: another attempt follows. */
  async #runStarted(running: RunningJob): Promise<boolean> {
    this.#running = running;
    const { run, error, isRetried, isRecorded } = await running.run(this.#body);
    this.#running = null;
    // A run whose end is not recorded may have been replaced by another: its slot has not ended this way.
    if (isRecorded) this.#last = run;
    if (error === undefined) this.#listeners.tell('ran', { run, isRecorded });
    else this.#listeners.tell('failed', { run, error, isRecorded });
    return isRetried;
  }

  /** No start could be asked for. */
  #tellUnasked(error: unknown): void {
    this.#listeners.tell('failed', { run: null, error, isRecorded: false });
  }

  get #limits(): { attempts: number; atMostMs: number | null; host: string } {
    const { attempts, atMostMs } = this.#options;
    return { attempts, atMostMs, host: this.#asker.host };
  }

  #compare(theirs: string): void {
    const ours = this.#slots.spec;
    if (theirs === '' || theirs === ours || this.#differing.has(theirs)) return;
    if (this.#differing.size >= DIFFERING_MAX) return;
    this.#differing.add(theirs);
    this.#listeners.tell('differs', { ours, theirs });
  }

  #stopped(): LockClosedError {
    return new LockClosedError(`job ${quote(this.name)}: the schedule was stopped`, { lock: this.name });
  }
}

/** Two schedules under one name are told of; a hundred are a program that makes up schedules. */
const DIFFERING_MAX = 100;

const NO_RUN = {
  attempt: 0,
  fence: undefined,
  beganAt: undefined,
  endedAt: undefined,
  error: undefined,
} as const;
