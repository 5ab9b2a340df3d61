/**
 * The one entrance of this process to a lock: all local callers for a name queue here, at most one of them is
 * remote at any time, and a hold passes from one local owner to the next without touching Redis.
 *
 * The trade: a process that hands over locally is unfair to other processes for a moment, so a hold is handed
 * over at most `handovers` times and not once it is `handoverMs` old; then it is released, and when others were
 * listening this process stands back for `YIELD_MS` before it contends again.
 *
 * - `idle`: no hold, nobody waits. Out: a caller comes (`seeking`).
 * - `seeking`: the contender is out for those who wait. Out: granted (`held`), nobody wants it any more (`idle`).
 * - `held`: a local owner has it. Out: released with somebody waiting (`held` again by hand-over, `turning`),
 *   released with nobody waiting (`idle`), lost (`seeking` or `idle`). With nobody waiting the turnstile goes and its
 *   hold stays: of thousands of leases most have nobody wait for them. Whoever comes next, or the release, brings it
 *   back.
 * - `turning`: between two owners a script is under way: the lease is restarted for a caller with a fixed one, or
 *   the hold is being released. Out: `held`, `seeking`, `idle`.
 */
import { LockClosedError, LockLostError, type LossReason } from '../errors.ts';
import type { ResolvedAcquireOptions } from '../options/options.ts';
import { detached } from '../runtime/detached.ts';
import { telemetry } from '../telemetry/channels.ts';
import type { HoldTerms, Protocol } from '../topologies/protocol.ts';
import type { ReleaseResult } from '../topologies/topology.ts';
import { Contender, type ContenderHost, type Entrant, type Granted } from './contender.ts';
import { acquireError, crowdError, quoted, releaseError } from './failures.ts';
import { Hold } from './hold.ts';
import { LeaseHandle } from './lease.ts';
import { Owner } from './owner.ts';
import type { Session } from './session.ts';
import { Waiter } from './waiter.ts';
import { WAITERS_MAX } from './waiter-queue.ts';

/** How long this process stands back after a release that others heard: a wake-up and a round trip for them. */
const YIELD_MS = 2;

/** A hold is handed over only with at least this share of its lease left. */
const HANDOVER_LEASE_SHARE = 1 / 3;

type Phase = 'idle' | 'seeking' | 'held' | 'turning';

export class Turnstile implements ContenderHost {
  readonly protocol: Protocol;
  readonly #session: Session;
  /** Those who wait, and who is out for them. */
  #contender: Contender | null = null;
  #phase: Phase;
  #hold: Hold | null;
  #yieldUntilMs = 0;

  /** With the hold that it had when it was left to it. */
  constructor(session: Session, protocol: Protocol, hold: Hold | null) {
    this.#session = session;
    this.protocol = protocol;
    this.#hold = hold;
    this.#phase = hold === null ? 'idle' : 'held';
  }

  get hold(): Hold | null {
    return this.#hold;
  }

  get isIdle(): boolean {
    return this.#phase === 'idle';
  }

  /** Resolves to the caller's lease; to null for a try that found it taken. */
  enter(options: ResolvedAcquireOptions, startedMs: number): Promise<LeaseHandle | null> {
    if (options.isTry && this.#isTaken()) return this.#tryWhileTaken();
    const contender = this.#contend();
    if (contender.queue.size >= WAITERS_MAX) return Promise.reject(crowdError(this.protocol));
    const waiter: Entrant = new Waiter(this.#session.timers, this.protocol, options, startedMs);
    contender.queue.push(waiter);
    if (this.#phase === 'idle') this.#seek(options.isTry ? 0 : this.#yieldUntilMs);
    else if (!options.isTry) contender.armTimeout(waiter);
    return waiter.promise;
  }

  /** Gives back one ownership that is held. True: it was ours to the end. False: it was not any more. */
  async release(owner: Owner): Promise<boolean> {
    const { hold } = owner;
    if (!hold.isValid(this.#session.timers.clock)) {
      this.holdLost(hold, 'expired');
      return false;
    }
    owner.markReleased();
    hold.count -= 1;
    if (hold.count > 0) return this.#session.reentry.leave(owner);
    owner.siblings?.end();
    const next = this.#head;
    if (next !== null && this.#mayHandOver(hold)) {
      this.#handOver(hold, next);
      return true;
    }
    const result = await this.#endHold(hold);
    if (result.is === 'failed') throw releaseError(this.protocol, result.servers);
    return result.is === 'released';
  }

  /** Of a hold that was live until now: everybody under it is told, the next ones go on. */
  holdLost(hold: Hold, reason: LossReason): void {
    this.#session.forgetHold(hold, true);
    const told: Owner[] = [];
    for (let owner = hold.owner; owner !== null; owner = owner.child) {
      if (owner.state !== 'held') continue;
      owner.markLost(this.#lossError(owner, reason));
      told.push(owner);
    }
    const mustContinue = this.#hold === hold && this.#phase === 'held';
    if (this.#hold === hold) this.#hold = null;
    if (mustContinue) this.#phase = 'turning';
    // The owner hears of it before anything is sent that could let somebody else in.
    for (const owner of told) owner.siblings?.end();
    // In nobody's async context: a listener must not find itself inside the `using` that happens to run us.
    detached(() => {
      for (const owner of told) owner.tellLoss();
      if (told[0] !== undefined) telemetry.lost(hold, told[0].fence, reason);
    });
    // Not when it is certainly not ours. Otherwise a renewal whose answer was lost may have kept it on the server.
    const isGone = reason === 'gone' || reason === 'revoked';
    this.#session.topology.abandon(this.protocol, hold.releaseTerms, isGone);
    if (mustContinue) this.#continue(0);
  }

  /** Nobody waits here any more. */
  turnAway(): void {
    const message = `${quoted(this.protocol)}: closed while waiting`;
    for (const waiter of this.#contender?.queue.takeAll() ?? []) {
      waiter.reject(new LockClosedError(message, { lock: this.protocol.name, elapsedMs: waiter.elapsedMs }));
    }
  }

  /** Turns everybody away; what is held is lost to its owner, then released. */
  close(): void {
    this.turnAway();
    // By way of the session: a listener of another loss may have made somebody else the entrance meanwhile.
    if (this.#hold !== null) this.#session.holdLost(this.#hold, 'closed');
  }

  get #head(): Entrant | null {
    return this.#contender?.queue.head ?? null;
  }

  #contend(): Contender {
    this.#contender ??= new Contender(this.#session, this.protocol, this);
    return this.#contender;
  }

  /** Nobody waits, so nobody listens. */
  #dismiss(): void {
    this.#contender?.stopListening();
    this.#contender = null;
  }

  #seek(pauseUntilMs: number): void {
    this.#phase = 'seeking';
    this.#contend().seek(pauseUntilMs === 0 ? 0 : pauseUntilMs - this.#session.timers.clock.monotonicMs());
  }

  /** The contender's word that nobody waits any more; also when a hold ends with nobody waiting. */
  gaveUp(): void {
    this.#phase = 'idle';
    this.#session.forgetTurnstile(this, this.#yieldUntilMs);
  }

  /** After a hold is over: the next callers contend, or there are none. */
  #continue(pauseUntilMs: number): void {
    if (this.#head !== null) {
      this.#seek(pauseUntilMs);
    } else {
      this.#dismiss();
      this.gaveUp();
    }
  }

  /** Whether a try cannot be the next attempt. It can when those that the contender is out for have all left. */
  #isTaken(): boolean {
    if (this.#phase === 'seeking') return this.#contender?.isAttempting !== true && this.#head !== null;
    return this.#phase !== 'idle';
  }

  /** A try that cannot be the next attempt: answered by what is known. */
  async #tryWhileTaken(): Promise<null> {
    const last = this.#contender?.last ?? null;
    const isOutage = this.#phase === 'seeking' && last !== null && last.is !== 'held';
    if (isOutage) throw acquireError(this.protocol, last, 0);
    return null;
  }

  /** The contender's word that the lock is ours. */
  granted(granted: Granted, terms: HoldTerms, waiter: Entrant, longestMs: number): void {
    const { handovers } = this.#session.options;
    const hold = new Hold({
      protocol: this.protocol,
      holder: terms.holder,
      leaseMs: terms.leaseMs,
      renews: waiter.options.renew,
      deadline: granted.deadline,
      firstFence: granted.firstFence,
      handovers: this.protocol.fencing === undefined ? handovers : granted.fences - 1,
      grantedMs: granted.heardAt.monotonicMs,
      longestMs,
      session: this.#session,
    });
    this.#hold = hold;
    this.#phase = 'held';
    this.#session.watchHold(hold, granted.heardAt);
    // The lease was asked for by whoever was first then; somebody else with a fixed one gets it restated.
    if (!waiter.options.renew && waiter.options.leaseMs !== terms.leaseMs) void this.#restart(hold, waiter);
    else this.#serveOnPresentLease(hold, waiter);
  }

  #serve(hold: Hold, waiter: Entrant): void {
    const owner = new Owner(hold, hold.nextFence(), null);
    hold.owner = owner;
    hold.count = 1;
    this.#phase = 'held';
    waiter.resolve(new LeaseHandle(owner));
    for (const late of this.#contender?.queue.takeTries() ?? []) late.resolve(null);
    if (this.#head !== null) return;
    this.#dismiss();
    this.#session.leaveTo(hold);
  }

  #mayHandOver(hold: Hold): boolean {
    const { timers, options, isOpen } = this.#session;
    return (
      isOpen &&
      hold.handoversLeft > 0 &&
      timers.clock.monotonicMs() - hold.grantedMs < options.handoverMs &&
      hold.remainingMs(timers.clock) >= hold.leaseMs * HANDOVER_LEASE_SHARE
    );
  }

  #handOver(hold: Hold, next: Entrant): void {
    hold.handoversLeft -= 1;
    if (!next.options.renew) return void this.#restart(hold, next);
    this.#serveOnPresentLease(hold, next);
  }

  /** A caller that renews takes what is left; its own lease takes effect with the next renewal. */
  #serveOnPresentLease(hold: Hold, waiter: Entrant): void {
    const { leaseMs, renew } = waiter.options;
    if (hold.renews !== renew || hold.leaseMs !== leaseMs) {
      hold.renews = renew;
      hold.leaseMs = leaseMs;
      this.#session.renewal.hasten(hold);
    }
    this.#serve(hold, waiter);
  }

  /** A caller with a fixed lease gets the whole of it: one script states it anew. */
  async #restart(hold: Hold, waiter: Entrant): Promise<void> {
    this.#phase = 'turning';
    hold.renews = false;
    const result = await this.#session.renewal.restate(hold, waiter.options.leaseMs);
    if (!hold.isLive) return this.#continue(0);
    if (result?.is === 'kept' && waiter.queue !== null) return this.#serve(hold, waiter);
    // No answer, or the caller left meanwhile: let it go and start over.
    await this.#endHold(hold);
  }

  /** Releases in Redis. With callers waiting, what the server says about other listeners decides the pace. */
  async #endHold(hold: Hold): Promise<ReleaseResult> {
    // Sent first: the server works while we keep our books.
    const releasing = this.#session.releaseHold(hold);
    this.#session.forgetHold(hold, false);
    if (this.#hold === hold) this.#hold = null;
    const isAlone = this.#head === null;
    const ownListeners = this.#contender?.isListening === true ? 1 : 0;
    // A caller that comes now may contend at once: its request travels behind this one.
    if (isAlone) {
      this.#phase = 'idle';
      this.#dismiss();
    } else this.#phase = 'turning';
    const result = await releasing;
    if (result.is === 'released' && result.receivers > ownListeners) {
      this.#yieldUntilMs = this.#session.timers.clock.monotonicMs() + YIELD_MS;
    }
    if (!isAlone) this.#continue(this.#yieldUntilMs);
    else if (this.#phase === 'idle') this.gaveUp();
    return result;
  }

  #lossError(owner: Owner, reason: LossReason): LockLostError {
    const { hold, fence } = owner;
    const heldMs = this.#session.timers.clock.monotonicMs() - hold.grantedMs;
    const why = {
      expired: `${hold.renews ? 'no renewal got through before the end of its' : 'at the end of its fixed'} lease of ${hold.leaseMs} ms`,
      gone: 'the server says that it is not ours any more',
      revoked: 'it was released by force',
      closed: 'this session was closed',
      abandoned: 'its lease was garbage-collected without a release',
    }[reason];
    const message = `${quoted(this.protocol)}: lost after ${Math.floor(heldMs)} ms, ${why}`;
    return new LockLostError(message, { lock: this.protocol.name, elapsedMs: heldMs, reason, fence });
  }
}
