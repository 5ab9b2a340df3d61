/**
 * What can be acquired: three strengths of acquiring (`tryAcquire`, `acquire`, `using`), and entering again.
 *
 * In this folder: what several kinds of lock have in common. Each kind has a folder below. Only those folders import
 * from here.
 */
import { LockConfigError, LockLostError, LockNotHeldError } from '../errors.ts';
import { abortError, lossAgain, quoted } from '../locking/failures.ts';
import { type FencedLease, type Lease, LeaseHandle } from '../locking/lease.ts';
import { ENDED, type Owner } from '../locking/owner.ts';
import { isOwnerOf, ownerInScope, runAs } from '../locking/scope.ts';
import type { Session } from '../locking/session.ts';
import {
  type AcquireOptions,
  type ResolvedAcquireOptions,
  resolveAcquireOptions,
  type TryAcquireOptions,
} from '../options/acquire-options.ts';
import { describe } from '../runtime/describe.ts';
import { type Facts, inspectable } from '../runtime/inspectable.ts';
import type { UsingTrace } from '../telemetry/channels.ts';
import { enclosed } from '../telemetry/enclose.ts';
import { telemetry } from '../telemetry/publish.ts';
import type { Protocol } from '../topologies/protocol.ts';

export abstract class Acquirable<Proof extends Lease | FencedLease> {
  /** For `console.log`, which shows an instance of that class under that name. */
  protected static showAs(ofClass: { readonly prototype: Acquirable<Lease> }, name: string): void {
    inspectable(ofClass, name, (lock) => (#session in lock ? lock.#facts : null));
  }

  readonly #session: Session;
  readonly #protocol: Protocol;

  constructor(session: Session, protocol: Protocol) {
    this.#session = session;
    this.#protocol = protocol;
  }

  /** The name, as given. */
  get name(): string {
    return this.#protocol.name;
  }

  /** For `console.log`: what this process knows without asking a server. */
  get #facts(): Facts {
    const { name } = this;
    const [hold] = this.#session.holdsOf(this.#protocol.key, this.#protocol.kind);
    const remainingMs = hold === undefined ? 0 : Math.floor(hold.remainingMs(this.#session.timers.clock));
    if (hold === undefined || remainingMs <= 0) return { name, state: 'not held here' };
    return { name, state: 'held here', fence: hold.owners[0]?.fence, remainingMs };
  }

  /** One attempt: the lease, or `null` when somebody else holds it. */
  tryAcquire(options: TryAcquireOptions = {}): Promise<Proof | null> {
    return this.#acquire(options, true);
  }

  /** Waits until it is ours. Rejects with `LockTimeoutError` after `waitMs`, `LockAbortedError` on abort. */
  acquire(options?: AcquireOptions): Promise<Proof> {
    // Only a try resolves to null.
    return this.#acquire(options, false) as Promise<Proof>;
  }

  /**
   * Acquires, runs the body, releases. Resolves or rejects as the body does, unless the lease was lost while the
   * body ran: then it rejects with a `LockLostError` whose `outcome` is what the body did.
   */
  async using<Result>(
    body: (lease: Proof) => Result | PromiseLike<Result>,
    options?: AcquireOptions,
  ): Promise<Result> {
    if (typeof body !== 'function') {
      throw new LockConfigError(`expected the body of using to be a function, got ${describe(body)}`);
    }
    const work = (trace: UsingTrace | null): Promise<Result> => this.#using(body, options, trace);
    return telemetry.using(this.#protocol, this.#session.id, work);
  }

  async #using<Result>(
    body: (lease: Proof) => Result | PromiseLike<Result>,
    options: AcquireOptions | undefined,
    trace: UsingTrace | null,
  ): Promise<Result> {
    const lease = await this.acquire(options);
    const owner = LeaseHandle.ownerOf(lease, this.#session) as Owner;
    if (trace !== null) {
      trace.lease = owner.id;
      trace.fence = owner.fence;
    }
    // A body that never ends holds the lock for ever. If only its timers are left to keep it, so be it.
    owner.keep();
    const [outcome] = await Promise.allSettled([runAs(owner, () => enclosed(trace, () => body(lease)))]);
    // A body may release early. No answer to the release says nothing about the time before it.
    const wasOurs = owner.state === 'released' || (await lease.release().catch(() => true));
    if (owner.loss !== null || !wasOurs) throw this.#lossDuring(owner, outcome);
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  }

  #lossDuring(owner: Owner, outcome: PromiseSettledResult<unknown>): LockLostError {
    const { loss, fence } = owner;
    const did = outcome.status === 'fulfilled' ? 'the body finished all the same' : 'the body failed';
    const why = loss?.message ?? `${quoted(this.#protocol)}: was gone when it was released`;
    const cause = outcome.status === 'rejected' ? outcome.reason : (loss ?? undefined);
    const reason = loss?.reason ?? 'gone';
    const details = { lock: this.name, elapsedMs: loss?.elapsedMs, reason, fence, outcome, cause };
    return new LockLostError(`${why}; ${did}`, details);
  }

  /** This method is not async: that would make one more promise for each waiting caller, and there may be thousands. */
  #acquire(options: AcquireOptions | undefined, isTry: boolean): Promise<Proof | null> {
    try {
      const resolved =
        options === undefined
          ? this.#session.plainOptions
          : resolveAcquireOptions(options, this.#session.options, isTry);
      if (resolved.signal?.aborted) throw resolved.signal.reason;
      const startedMs = this.#session.timers.clock.monotonicMs();
      const entering = telemetry.tellsAcquires
        ? this.#enterTold(resolved, startedMs)
        : this.#enter(resolved, startedMs);
      // The handle has a fence exactly when the kind has fences, which is what `Proof` says.
      return entering as Promise<unknown> as Promise<Proof | null>;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #enterTold(options: ResolvedAcquireOptions, startedMs: number): Promise<LeaseHandle | null> {
    const { id: session, timers } = this.#session;
    return telemetry.acquire(
      { subject: this.#protocol, session, clock: timers.clock, startedMs },
      () => this.#enter(options, startedMs),
      (lease) => LeaseHandle.ownerOf(lease, this.#session),
    );
  }

  #enter(options: ResolvedAcquireOptions, startedMs: number): Promise<LeaseHandle | null> {
    const above = this.#ownerAbove(options);
    // A session that closes still lets owners re-enter: in its grace an owner may need its own lock again to finish.
    if (above !== null) return this.#enterBelow(above, options, startedMs);
    return this.#session.entrance(this.#protocol).enter(options, startedMs);
  }

  async #enterBelow(
    above: Owner,
    options: ResolvedAcquireOptions,
    startedMs: number,
  ): Promise<LeaseHandle | null> {
    if (this.#protocol.reentry === undefined) throw this.#cannotEnterAgain(above);
    const owner = await this.#session.reentry.enter(above, options, startedMs);
    if (owner === null) return null;
    if (owner !== ENDED) return new LeaseHandle(owner);
    // The owner above has released meanwhile: this caller goes to the next queue. It may have aborted on the way,
    // between one queue and the other, where nobody listened.
    if (options.signal?.aborted) {
      const elapsedMs = this.#session.timers.clock.monotonicMs() - startedMs;
      throw abortError(this.#protocol, elapsedMs, options.signal);
    }
    // Nested `using`: the next one out may still be open, and its body may wait for this caller.
    const outer = options.within === undefined ? ownerInScope(this.#session, this.#protocol) : null;
    if (outer !== null) return this.#enterBelow(outer, options, startedMs);
    return this.#session.entrance(this.#protocol).enter(options, startedMs);
  }

  /** Waiting would be waiting for oneself. */
  #cannotEnterAgain({ loss }: Owner): LockConfigError | LockLostError {
    if (loss !== null) return lossAgain(loss);
    const { kind } = this.#protocol;
    const message = `${quoted(this.#protocol)}: this call chain holds it already, and a ${kind} cannot be entered twice; use lock() for that`;
    return new LockConfigError(message, { lock: this.name });
  }

  #ownerAbove({ within }: ResolvedAcquireOptions): Owner | null {
    if (within === undefined) return ownerInScope(this.#session, this.#protocol);
    const owner = LeaseHandle.ownerOf(within, this.#session);
    if (owner === undefined || !isOwnerOf(owner, this.#session, this.#protocol)) {
      const got = owner === undefined ? describe(within) : `a lease of ${quoted(owner.hold.protocol)}`;
      const expected = `a lease of ${quoted(this.#protocol)} from this Locks`;
      throw new LockConfigError(`expected within to be ${expected}, got ${got}`);
    }
    if (owner.state !== 'released') return owner;
    const message = `${quoted(this.#protocol)}: the lease given as within has been released`;
    throw new LockNotHeldError(message, { lock: this.name });
  }
}
