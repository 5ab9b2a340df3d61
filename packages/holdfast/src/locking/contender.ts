/**
 * The one remote contender of this process for a name. While callers wait and the process does not hold the lock,
 * it tries, listens and sleeps for all of them; what it wins goes to whoever is first in the queue by then.
 *
 * A round is: attempt. Granted: done. Held: subscribe, attempt again once the subscription is confirmed, then
 * sleep until a message, the time-to-live that the server told, or the cap; attempt again. No answer: attempt
 * again under the same holder, because the first may have happened. Unreachable: back off, as long as the outage
 * may last. Whatever may have been granted and is not wanted any more goes to the late releases.
 */
import { LockConfigError, type LockError } from '../errors.ts';
import { assert } from '../runtime/assert.ts';
import { Backoff } from '../runtime/backoff.ts';
import { detached } from '../runtime/detached.ts';
import { telemetry } from '../telemetry/channels.ts';
import type { HoldTerms, Protocol } from '../topologies/protocol.ts';
import type { AcquireFailed, AcquireResult } from '../topologies/topology.ts';
import { Bid } from './bid.ts';
import { acquireError, configErrorAgain } from './failures.ts';
import type { LeaseHandle } from './lease.ts';
import type { Session } from './session.ts';
import type { Waiter } from './waiter.ts';
import { WaiterQueue } from './waiter-queue.ts';
import { Wakeup } from './wakeup.ts';

/** A caller of this process that wants the lease. */
export type Entrant = Waiter<LeaseHandle | null>;

export type Granted = Extract<AcquireResult, { is: 'granted' }>;
type NotGranted = Exclude<AcquireResult, Granted>;
type Held = Extract<AcquireResult, { is: 'held' }>;

/** Whom the contender works for. */
export interface ContenderHost {
  /** It is ours. The waiter is the first in the queue. */
  granted(granted: Granted, terms: HoldTerms, waiter: Entrant, longestMs: number): void;
  /** Nobody wants it any more. */
  gaveUp(): void;
}

/** Messages are hints and may be lost; nobody sleeps longer. Up to a quarter less, so as not to march in step. */
const SLEEP_MS_MAX = 5_000;

/** A key vanishes a little after its time: asking sooner costs an attempt for nothing. */
const EXPIRY_SLACK_MS = 2;

/** A caller with a very short wait still gives the server this long to answer: it asked not to queue, not to fail. */
const ATTEMPT_MS_MIN = 250;

export class Contender {
  readonly #session: Session;
  readonly #protocol: Protocol;
  /** The callers of this process that wait. */
  readonly queue: WaiterQueue<LeaseHandle | null> = new WaiterQueue();
  readonly #host: ContenderHost;
  readonly #bid: Bid;
  #wakeup: Wakeup | null = null;
  #backoff: Backoff | null = null;
  #listenBackoff: Backoff | null = null;
  #isAttempting = false;
  #last: NotGranted | null = null;
  #outageSinceMs: number | null = null;
  #splitVotes = 0;

  constructor(session: Session, protocol: Protocol, host: ContenderHost) {
    this.#session = session;
    this.#protocol = protocol;
    this.#host = host;
    this.#bid = new Bid(session, protocol);
  }

  get isAttempting(): boolean {
    return this.#isAttempting;
  }

  get isListening(): boolean {
    return this.#wakeup?.isListening === true;
  }

  /** What the last attempt said, if it was not granted. */
  get last(): NotGranted | null {
    return this.#last;
  }

  /** Seeks the lock until somebody has it or nobody wants it. Without a pause the first attempt is sent at once. */
  seek(pauseMs: number): void {
    this.#session.begin();
    this.#last = null;
    this.#outageSinceMs = null;
    if (pauseMs > 0) {
      this.#keepSeeking(pauseMs);
      return;
    }
    // The first attempt runs in its caller's async context, and most are granted: nothing else is built for them.
    this.#attempt().then(
      (result) => (this.#isGranted(result) ? this.#grant(result) : this.#keepSeeking(0)),
      (error: unknown) => this.#fail(error),
    );
  }

  stopListening(): void {
    this.#wakeup?.stop();
  }

  #keepSeeking(pauseMs: number): void {
    detached(() => this.#seek(pauseMs)).catch((error: unknown) => this.#fail(error));
  }

  async #seek(pauseMs: number): Promise<void> {
    if (pauseMs > 0) await this.#session.pause(pauseMs);
    while (this.queue.head !== null) {
      if (this.#last?.is === 'held') await this.#sleepWhileHeld(this.#last);
      else if (this.#last?.is === 'conflict') this.#rejectAll(this.#last);
      else if (this.#last !== null) await this.#sleepAfterFailure(this.#last);
      if (this.queue.head === null) break;
      const result = await this.#attempt();
      if (this.#isGranted(result)) return this.#grant(result);
    }
    this.#giveUp();
  }

  #attempt(): Promise<AcquireResult> {
    const waiter = this.queue.head;
    assert(waiter !== null, () => 'an attempt is made for a waiter');
    const terms = this.#bid.next(waiter.options.leaseMs, this.queue.size - 1);
    this.#wakeup?.reset();
    this.#isAttempting = true;
    const waitMs = Math.max(waiter.remainingMs, ATTEMPT_MS_MIN);
    const timeoutMs = Math.min(this.#session.options.callTimeoutMs, waitMs);
    return this.#session.topology.acquire(this.#protocol, terms, timeoutMs);
  }

  #isGranted(result: AcquireResult): result is Granted {
    this.#isAttempting = false;
    if (result.is === 'granted') return true;
    if (result.is === 'failed') this.#bid.noteFailed(result.mayBeGranted);
    this.#last = result;
    return false;
  }

  #grant(granted: Granted): void {
    const { terms, longestMs } = this.#bid.take();
    this.#last = null;
    this.#outageSinceMs = null;
    this.#splitVotes = 0;
    this.#backoff = null;
    const waiter = this.queue.head;
    if (waiter !== null) {
      this.#host.granted(granted, terms, waiter, longestMs);
    } else {
      // The grant crossed the last caller's departure.
      this.#session.topology.abandon(this.#protocol, { holder: terms.holder, leaseMs: longestMs });
      this.stopListening();
      this.#host.gaveUp();
    }
    this.#session.finish();
  }

  async #sleepWhileHeld(held: Held): Promise<void> {
    const { ttlMs } = held;
    this.#outageSinceMs = null;
    if (!held.isSplit) this.#backoff = null;
    for (const waiter of this.queue.takeTries()) waiter.resolve(null);
    this.#settleWaits();
    if (this.queue.head === null) return;
    if (held.isSplit) return this.#sleepAfterSplit(held);
    this.#splitVotes = 0;
    const { callTimeoutMs, random } = this.#session.options;
    const wakeup = this.#openWakeup();
    let capMs = SLEEP_MS_MAX * (1 - random.fraction() / 4);
    if (!wakeup.isListening) {
      const failure = await wakeup.listen(callTimeoutMs);
      // Confirmed: whatever was released before is seen by the next attempt, whatever is released after is heard.
      if (failure === null) this.#listenBackoff = null;
      if (failure === null || this.queue.head === null) return;
      // Deaf for now. A refusal will not change; anything else is tried again soon, with the next attempt.
      this.#listenBackoff ??= new Backoff(random);
      if (failure.kind !== 'reply') capMs = this.#listenBackoff.nextMs();
    }
    await this.#sleep(ttlMs < 0 ? capMs : Math.min(capMs, ttlMs + EXPIRY_SLACK_MS));
  }

  /** Nobody has it, and nobody will say so: a random while settles who comes first. */
  async #sleepAfterSplit(split: Held): Promise<void> {
    this.#splitVotes += 1;
    if (this.#splitVotes > this.#session.options.splitVotesMax) return this.#rejectAll(split);
    this.#backoff ??= new Backoff(this.#session.options.random);
    await this.#sleep(this.#backoff.nextMs());
  }

  async #sleepAfterFailure(result: AcquireFailed): Promise<void> {
    const { callTimeoutMs, outageMs, random } = this.#session.options;
    const nowMs = this.#session.timers.clock.monotonicMs();
    this.#outageSinceMs ??= nowMs;
    const isLost = result.mayBeGranted && result.servers.some(({ kind }) => kind === 'unknown');
    const isHopeless = !result.canRetry;
    // A server that has never been there is a wrong address more often than an outage: say so at once.
    const isStranger = !isLost && !this.#session.topology.hasAnswered;
    const isOver = nowMs - this.#outageSinceMs >= outageMs;
    if (isHopeless || isStranger || isOver) return this.#rejectAll(result);
    // One attempt, but an answer that was lost is asked for again while its time lasts.
    const isOut = (waiter: Entrant): boolean => !isLost || waiter.elapsedMs >= callTimeoutMs;
    for (const waiter of this.queue.takeTries(isOut)) {
      waiter.reject(acquireError(this.#protocol, result, waiter.elapsedMs));
    }
    this.#settleWaits();
    if (this.queue.head === null) return;
    this.#backoff ??= new Backoff(random);
    const { head } = this.queue;
    const leftMs = head.options.isTry
      ? Math.max(0, callTimeoutMs - head.elapsedMs)
      : Number.POSITIVE_INFINITY;
    await this.#sleep(Math.min(this.#backoff.nextMs(), leftMs));
  }

  async #sleep(delayMs: number): Promise<void> {
    const reason = await this.#openWakeup().sleep(delayMs);
    if (reason !== 'nudge') telemetry.woken(this.#protocol, reason);
  }

  #openWakeup(): Wakeup {
    if (this.#wakeup !== null) return this.#wakeup;
    const wakeup = new Wakeup(this.#session.timers, this.#session.topology, this.#protocol.channel);
    this.#wakeup = wakeup;
    // Nobody left to sleep for.
    this.queue.onEmpty = () => wakeup.nudge();
    return wakeup;
  }

  /** Starts the clocks of those who turn out to wait, and lets go those whose time is already over. */
  #settleWaits(): void {
    for (let waiter = this.queue.head; waiter !== null; waiter = this.queue.head) {
      if (!waiter.isOverdue && waiter.remainingMs > 0) {
        this.armTimeout(waiter);
        return;
      }
      waiter.reject(this.#endOfWait(waiter));
    }
  }

  /** A wait that runs out ends at once, except the head's while an attempt is under way: that answer still counts. */
  armTimeout(waiter: Entrant): void {
    waiter.armTimeout(() => {
      if (this.#isAttempting && waiter === this.queue.head) waiter.isOverdue = true;
      else waiter.reject(this.#endOfWait(waiter));
    });
  }

  /** What the last attempt said; unless the connection was lost since, which makes it yesterday's news. */
  #endOfWait(waiter: Entrant): LockError {
    const servers = this.#last?.is === 'held' ? this.#session.topology.outageOf(this.#protocol.key) : [];
    const last: NotGranted | null =
      servers.length > 0 ? { is: 'failed', servers, canRetry: true, mayBeGranted: false } : this.#last;
    return acquireError(this.#protocol, last, waiter.elapsedMs);
  }

  #rejectAll(result: NotGranted): void {
    for (const waiter of this.queue.takeAll()) {
      waiter.reject(acquireError(this.#protocol, result, waiter.elapsedMs));
    }
  }

  /** Nobody wants it any more. */
  #giveUp(): void {
    this.#bid.withdraw();
    this.stopListening();
    this.#host.gaveUp();
    this.#session.finish();
  }

  /** Something that cannot happen did: every caller hears it rather than waiting for ever. */
  #fail(error: unknown): void {
    this.#isAttempting = false;
    for (const waiter of this.queue.takeAll()) {
      if (error instanceof LockConfigError) waiter.reject(configErrorAgain(this.#protocol, error));
      else waiter.fail(error);
    }
    this.#bid.noteFailed(true);
    this.#giveUp();
  }
}
