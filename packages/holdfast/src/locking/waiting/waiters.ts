/**
 * The callers of this process that wait for one name, first come, first served; the loop that seeks the lock for them;
 * and the errors for those who do not get it. A caller of `tryAcquire` (a *try*) is in this queue only while an attempt
 * is under way that can answer it.
 *
 * In this folder: the way to a grant: attempts, tickets in the line, the mailboxes that hear of grants, the wait
 * loop, and these callers. Only `locking/`, `leader/campaign.ts` and `schedule/job-asker.ts` import
 * from here.
 */
import type { CallFailure } from '../../clients/client.ts';
import { LockConfigError, type LockError } from '../../errors.ts';
import type { ResolvedAcquireOptions } from '../../options/acquire-options.ts';
import { LinkedQueue } from '../../runtime/linked-queue.ts';
import type { AcquiredVia } from '../../telemetry/channels.ts';
import type { Protocol } from '../../topologies/protocol.ts';
import {
  acquireError,
  type Broken,
  closedError,
  configErrorAgain,
  type Failed,
  type Held,
  isUnanswered,
  type Refusal,
} from '../failures.ts';
import type { LeaseHandle } from '../lease.ts';
import type { Attempts, Grant } from './attempt.ts';
import type { Receiver } from './mailboxes.ts';
import type { GrantMessage } from './ticket.ts';
import { type AwaitedLine, WaitLoop, type WaitLoopServices, type WaitParty } from './wait-loop.ts';
import { WAITERS_MAX, Waiter } from './waiter.ts';

/** A caller that wants a lease. */
export type LeaseWaiter = Waiter<LeaseHandle | null>;

const NO_TRIES: readonly LeaseWaiter[] = [];

export class Waiters extends LinkedQueue<LeaseWaiter> implements WaitParty, AwaitedLine<Grant> {
  readonly #services: WaitLoopServices;
  readonly #protocol: Protocol;
  readonly #loop: WaitLoop<Grant>;
  readonly #attempts: () => Attempts;
  /** How many of the waiters are tries. */
  #tries = 0;
  /** What the last attempt said, if it did not bring the lock. */
  #last: Held | Failed | null = null;

  /** `attempts` gives the attempts of the wait that is under way. */
  constructor(services: WaitLoopServices, protocol: Protocol, attempts: () => Attempts) {
    super();
    this.#services = services;
    this.#protocol = protocol;
    this.#attempts = attempts;
    this.#loop = new WaitLoop<Grant>(services, this, {
      subject: protocol,
      line: this,
      attempt: (releases) => {
        const { options, remainingMs } = this.head as LeaseWaiter;
        const { leaseMs, lingerMs, isTry } = options;
        const behind = this.size - 1;
        return attempts().make({ leaseMs, waitMs: remainingMs, behind, joins: !isTry, lingerMs, releases });
      },
    });
  }

  get hasStated(): boolean {
    return this.#attempts().hasStated;
  }

  get hears(): boolean {
    return this.#attempts().hears;
  }

  listen(): Promise<CallFailure | null> {
    return this.#attempts().listen();
  }

  attach(receiver: Receiver): void {
    this.#attempts().attach(receiver);
  }

  /** Null: the server is asked first, because the evidence is old, or more than a claim is needed before serving. */
  claim(message: GrantMessage): Grant | null {
    const { claimMs, replicas } = this.#services.options;
    const attempts = this.#attempts();
    const grant = attempts.claim(message);
    if (grant === null || !grant.isYoung) return null;
    if (claimMs === 0 || replicas !== null || this.head?.options.renew !== true) return null;
    attempts.claimed();
    return grant;
  }

  get isAttempting(): boolean {
    return this.#loop.isAttempting;
  }

  get isListening(): boolean {
    return this.#loop.isListening;
  }

  /** Seeks the lock for all who wait. Null once all of them have left. */
  async seek(last: Refusal | Broken | null, pauseMs: number): Promise<Grant | null> {
    const grant = await this.#loop.run(last, this.head?.options.isTry ? 0 : pauseMs);
    this.#last = null;
    return grant;
  }

  /** How the last grant of `seek` came. */
  viaOf({ isFromLine }: Grant): AcquiredVia {
    const { wokenBy } = this.#loop;
    if (isFromLine === true) return 'line';
    if (wokenBy === null) return 'free';
    return wokenBy === 'message' ? 'message' : 'timer';
  }

  get isOver(): boolean {
    return this.head === null;
  }

  get leftMs(): number {
    return this.head?.remainingMs ?? 0;
  }

  get isFull(): boolean {
    return this.size >= WAITERS_MAX;
  }

  /** A new waiter, in no queue yet. */
  newWaiter(options: ResolvedAcquireOptions, startedMs: number): LeaseWaiter {
    return new Waiter(this.#services.timers, this.#protocol, options, startedMs);
  }

  override push(waiter: LeaseWaiter): void {
    super.push(waiter);
    if (waiter.options.isTry) this.#tries += 1;
  }

  override pushFirst(waiter: LeaseWaiter): void {
    super.pushFirst(waiter);
    if (waiter.options.isTry) this.#tries += 1;
  }

  override remove(waiter: LeaseWaiter): boolean {
    if (!super.remove(waiter)) return false;
    if (waiter.options.isTry) this.#tries -= 1;
    if (this.size === 0) this.#loop.stop();
    return true;
  }

  held(refusal: Held): void {
    this.#last = refusal;
    this.answerTries();
    this.#settleWaits();
  }

  /** A try is one attempt. If it got no answer, it is repeated until `callTimeoutMs` after its caller came. */
  failed(refusal: Failed): number {
    this.#last = refusal;
    const { callTimeoutMs } = this.#services.options;
    const leftMs = ({ elapsedMs }: LeaseWaiter): number =>
      isUnanswered(refusal) ? Math.max(0, callTimeoutMs - elapsedMs) : 0;
    for (const waiter of this.#waitingTries()) if (leftMs(waiter) === 0) this.#reject(waiter, refusal);
    this.#settleWaits();
    return this.head?.options.isTry ? leftMs(this.head) : Number.POSITIVE_INFINITY;
  }

  giveUp(refusal: Refusal | Broken): void {
    for (const waiter of this) this.#reject(waiter, refusal);
  }

  /** Somebody holds the lock, here or elsewhere: that is the answer to all who only tried. */
  answerTries(): void {
    for (const waiter of this.#waitingTries()) waiter.resolve(null);
  }

  /** Answers a try for which no attempt is under way, by what the last attempt said. */
  async answerTry(): Promise<null> {
    const last = this.#last;
    if (last !== null && last.is !== 'held') throw acquireError(this.#protocol, last, 0);
    return null;
  }

  /** The session closes. */
  turnAway(): void {
    for (const waiter of this) waiter.reject(closedError(this.#protocol, waiter.elapsedMs));
  }

  /** A wait that runs out ends at once, except the first one's while an attempt is under way: that answer still counts. */
  armTimeout(waiter: LeaseWaiter): void {
    waiter.armTimeout(() => {
      if (this.#loop.isAttempting && waiter === this.head) waiter.isOverdue = true;
      else waiter.reject(this.#endOfWait(waiter));
    });
  }

  /** Rejects the waiters at the head whose time is over, and starts the clock of the first whose time is not. */
  #settleWaits(): void {
    for (let first = this.head; first !== null; first = this.head) {
      if (!first.isOverdue && first.remainingMs > 0) {
        this.armTimeout(first);
        return;
      }
      first.reject(this.#endOfWait(first));
    }
  }

  #waitingTries(): readonly LeaseWaiter[] {
    return this.#tries === 0 ? NO_TRIES : [...this].filter(({ options }) => options.isTry);
  }

  #reject(waiter: LeaseWaiter, refusal: Refusal | Broken): void {
    // `settled` is no error: each waiter gets it as it is, and the kind of lock turns it into a result.
    if (refusal.is === 'settled') waiter.fail(refusal);
    else if (refusal.is !== 'broken') waiter.reject(acquireError(this.#protocol, refusal, waiter.elapsedMs));
    else if (!(refusal.error instanceof LockConfigError)) waiter.fail(refusal.error);
    else waiter.reject(configErrorAgain(this.#protocol, refusal.error));
  }

  /** The error of a wait that ran out: from the last refusal, or from an outage that has begun since. */
  #endOfWait(waiter: LeaseWaiter): LockError {
    const servers = this.#last?.is === 'held' ? this.#services.topology.outageOf(this.#protocol.key) : [];
    const refusal: Held | Failed | null =
      servers.length > 0 ? { is: 'failed', servers, canRetry: true, mayBeGranted: false } : this.#last;
    return acquireError(this.#protocol, refusal, waiter.elapsedMs);
  }
}
