/**
 * The one remote contender of this process for a name. While callers wait and the process does not hold the lock,
 * it tries, listens and sleeps for all of them; what it wins goes to whoever is first in the queue by then.
 *
 * A round is: attempt. Granted: done. Held: subscribe, attempt again once the subscription is confirmed, then
 * sleep until a message, the time-to-live that the server told, or the cap; attempt again. No answer: attempt
 * again under the same holder, because the first may have happened. Unreachable: back off, as long as the outage
 * may last. Whatever may have been granted and is not wanted any more goes to the late releases.
 */
import { assert } from './assert.ts';
import { acquireError } from './failures.ts';
import { Backoff } from './backoff.ts';
import { detached } from './detached.ts';
import type { Owner } from './owner.ts';
import type { Session } from './session.ts';
import { telemetry } from '../telemetry/channels.ts';
import type { AcquireResult, HoldTerms, Protocol } from '../topologies/topology.ts';
import type { Waiter } from './waiter.ts';
import type { WaiterQueue } from './waiter-queue.ts';
import { Wakeup } from './wakeup.ts';

export type Granted = Extract<AcquireResult, { is: 'granted' }>;
type NotGranted = Exclude<AcquireResult, Granted>;

/** Messages are hints and may be lost; nobody sleeps longer than this. Up to a quarter less, so as not to march in step. */
const SLEEP_MS_MAX = 5_000;

/** A key vanishes a little after its time: asking sooner costs an attempt for nothing. */
const EXPIRY_SLACK_MS = 2;

/** A caller with a very short wait still gives the server this long to answer: it asked not to queue, not to fail. */
const ATTEMPT_MS_MIN = 250;

export class Contender {
  readonly wakeup: Wakeup;
  readonly #session: Session;
  readonly #protocol: Protocol;
  readonly #queue: WaiterQueue<Owner | null>;
  readonly #onGranted: (granted: Granted, terms: HoldTerms, waiter: Waiter<Owner | null>) => void;
  readonly #onIdle: () => void;
  readonly #backoff: Backoff;
  #terms: HoldTerms | null = null;
  /** An attempt under the present holder went unanswered: it may have been granted. */
  #mayExist = false;
  #isAttempting = false;
  #last: NotGranted | null = null;
  #outageSinceMs: number | null = null;

  constructor(
    session: Session,
    protocol: Protocol,
    queue: WaiterQueue<Owner | null>,
    onGranted: (granted: Granted, terms: HoldTerms, waiter: Waiter<Owner | null>) => void,
    onIdle: () => void,
  ) {
    this.#session = session;
    this.#protocol = protocol;
    this.#queue = queue;
    this.#onGranted = onGranted;
    this.#onIdle = onIdle;
    this.#backoff = new Backoff(session.options.random);
    this.wakeup = new Wakeup(session.agenda, session.topology, () => protocol.channel);
  }

  get isAttempting(): boolean {
    return this.#isAttempting;
  }

  /** What the last attempt said, if it was not granted. */
  get last(): NotGranted | null {
    return this.#last;
  }

  /** Seeks the lock until somebody has it or nobody wants it. The first attempt is sent before this returns. */
  seek(pauseMs: number): void {
    this.#last = null;
    this.#outageSinceMs = null;
    const first = pauseMs > 0 ? null : this.#attempt();
    detached(() => this.#seek(first, pauseMs)).catch((error: unknown) => this.#fail(error));
  }

  async #seek(first: Promise<AcquireResult> | null, pauseMs: number): Promise<void> {
    if (first === null) await this.wakeup.pause(pauseMs);
    for (let attempt = first; this.#queue.head !== null; attempt = null) {
      const result = await (attempt ?? this.#attempt());
      if (result.is === 'granted') return this.#grant(result);
      this.#last = result;
      if (result.is === 'conflict') this.#rejectAll(result);
      else if (result.is === 'held') await this.#sleepWhileHeld(result);
      else await this.#sleepAfterFailure(result);
    }
    this.#giveUp();
  }

  async #attempt(): Promise<AcquireResult> {
    const waiter = this.#queue.head;
    assert(waiter !== null, () => 'an attempt is made for a waiter');
    const { leaseMs } = waiter.options;
    const { callTimeoutMs } = this.#session.options;
    // Under the same holder the same fences: a repeated grant must answer what the first one answered.
    const terms: HoldTerms =
      this.#mayExist && this.#terms !== null ? { ...this.#terms, leaseMs } : this.#newTerms(leaseMs);
    this.#terms = terms;
    const waitMs = Math.max(waiter.remainingMs, ATTEMPT_MS_MIN);
    this.wakeup.reset();
    this.#isAttempting = true;
    try {
      const timeoutMs = Math.min(callTimeoutMs, waitMs);
      const result = await this.#session.topology.acquire(this.#protocol, terms, timeoutMs);
      if (result.is === 'unknown') this.#mayExist = true;
      return result;
    } finally {
      this.#isAttempting = false;
    }
  }

  #newTerms(leaseMs: number): HoldTerms {
    const holder = this.#terms?.holder ?? this.#session.newHolder(this.#protocol);
    const handovers = Math.min(this.#session.options.handovers, this.#queue.size - 1);
    return { holder, leaseMs, fences: 1 + handovers };
  }

  #grant(granted: Granted): void {
    const terms = this.#terms as HoldTerms;
    this.#terms = null;
    this.#mayExist = false;
    this.#last = null;
    this.#outageSinceMs = null;
    this.#backoff.reset();
    const waiter = this.#queue.head;
    if (waiter !== null) return this.#onGranted(granted, terms, waiter);
    // The grant crossed the last caller's departure.
    this.#session.lateReleases.add(this.#protocol, terms.holder, terms.leaseMs);
    this.wakeup.stop();
    this.#onIdle();
  }

  async #sleepWhileHeld(held: Extract<AcquireResult, { is: 'held' }>): Promise<void> {
    this.#outageSinceMs = null;
    this.#backoff.reset();
    for (const waiter of this.#queue.takeTries()) waiter.resolve(null);
    this.#settleWaits();
    if (this.#queue.head === null) return;
    if (!this.wakeup.isListening) {
      // Confirmed: whatever was released before is seen by the next attempt, whatever is released after is heard.
      if (await this.wakeup.listen(this.#session.options.callTimeoutMs)) return;
      if (this.#queue.head === null) return;
    }
    const capMs = SLEEP_MS_MAX * (1 - this.#session.options.random.fraction() / 4);
    const expiryMs = held.ttlMs < 0 ? capMs : held.ttlMs + EXPIRY_SLACK_MS;
    await this.#sleep(Math.min(capMs, expiryMs));
  }

  async #sleepAfterFailure(result: Extract<AcquireResult, { is: 'refused' | 'unknown' }>): Promise<void> {
    const { callTimeoutMs, outageMs } = this.#session.options;
    const nowMs = this.#session.agenda.clock.monotonicMs();
    this.#outageSinceMs ??= nowMs;
    const isHopeless = result.is === 'refused' && !result.isPassing;
    // A server that has never been there is a wrong address more often than an outage: say so at once.
    const isStranger = result.is === 'refused' && !this.#session.topology.hasAnswered;
    const isOver = nowMs - this.#outageSinceMs >= outageMs;
    if (isHopeless || isStranger || isOver) return this.#rejectAll(result);
    for (const waiter of this.#queue.takeTries()) {
      // One attempt, but an answer that was lost is asked for again while its time lasts.
      const isLost = result.is === 'unknown' && result.servers.some(({ kind }) => kind !== 'late');
      const mayRepeat = isLost && waiter.elapsedMs < callTimeoutMs;
      if (mayRepeat) this.#queue.push(waiter);
      else waiter.reject(acquireError(this.#protocol, result, waiter.elapsedMs));
    }
    this.#settleWaits();
    if (this.#queue.head !== null) await this.#sleep(this.#backoff.nextMs());
  }

  async #sleep(delayMs: number): Promise<void> {
    const reason = await this.wakeup.sleep(delayMs);
    if (reason !== 'nudge') telemetry.woken(this.#protocol, reason);
  }

  /** Starts the clocks of those who turn out to wait, and lets go those whose time is already over. */
  #settleWaits(): void {
    for (let waiter = this.#queue.head; waiter !== null; waiter = this.#queue.head) {
      if (!waiter.isOverdue && waiter.remainingMs > 0) return waiter.armTimeout(this.onTimeout);
      waiter.reject(acquireError(this.#protocol, this.#last, waiter.elapsedMs));
    }
  }

  /** A wait ran out. The head stays while an attempt is under way for it: that answer still counts. */
  readonly onTimeout = (waiter: Waiter<Owner | null>): void => {
    if (this.#isAttempting && waiter === this.#queue.head) waiter.isOverdue = true;
    else waiter.reject(acquireError(this.#protocol, this.#last, waiter.elapsedMs));
  };

  #rejectAll(result: NotGranted): void {
    for (const waiter of this.#queue.takeAll()) {
      waiter.reject(acquireError(this.#protocol, result, waiter.elapsedMs));
    }
  }

  /** Nobody wants it any more. */
  #giveUp(): void {
    if (this.#mayExist && this.#terms !== null) {
      this.#session.lateReleases.add(this.#protocol, this.#terms.holder, this.#terms.leaseMs);
    }
    this.#terms = null;
    this.#mayExist = false;
    this.wakeup.stop();
    this.#onIdle();
  }

  /** Something that cannot happen did: every caller hears it rather than waiting for ever. */
  #fail(error: unknown): void {
    for (const waiter of this.#queue.takeAll()) waiter.reject(error);
    this.#mayExist = true;
    this.#giveUp();
  }
}
