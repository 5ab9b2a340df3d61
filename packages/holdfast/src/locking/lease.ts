/** The proof that you hold a lock, until a time. What `acquire` returns and `using` hands to its body. */
import { LockLostError, LockNotHeldError, LockUnavailableError, LockUnknownError } from '../errors.ts';
import { checkLeaseMs } from '../options/options.ts';
import { type Facts, inspectable } from '../runtime/inspectable.ts';
import { inMs } from '../runtime/printable.ts';
import { telemetry } from '../telemetry/publish.ts';
import { describeServers, lossAgain, quoted } from './failures.ts';
import type { Owner } from './owner.ts';

export interface Lease {
  /** The name of the lock, as given. */
  readonly name: string;
  /**
   * Aborts when the lease is lost, with the `LockLostError` as its reason; never after a release. Once asked for, the
   * lease is renewed until it is released or lost, also when you keep nothing but the signal, or nothing at all.
   */
  readonly signal: AbortSignal;
  /**
   * Whether it may be claimed now, by our own clocks. Right at any moment, also before the event loop has turned:
   * after a long pause it is false before the signal has had a chance to abort.
   */
  readonly isHeld: boolean;
  /** How long it may still be claimed without another renewal; 0 when it may not. */
  readonly remainingMs: number;
  /**
   * Makes the lease last `leaseMs` from now, and lets renewals use that length. Rejects with `LockLostError` when
   * it is not ours any more, and with `LockUnavailableError` or `LockUnknownError` when the server did not answer;
   * then it is still held for as long as `remainingMs` says.
   */
  extend(leaseMs: number): Promise<void>;
  /**
   * Gives it back. True: it was ours until now. False: it was not any more (lost, or released before); that costs
   * nothing and throws nothing. Rejects only when the server did not answer; the release is then repeated in the
   * background.
   */
  release(): Promise<boolean>;
  /** Releases; never throws. */
  [Symbol.asyncDispose](): Promise<void>;
}

export interface FencedLease extends Lease {
  /**
   * A number larger than that of every earlier owner of this lock. A resource that remembers the largest it has
   * seen can refuse the late write of an owner that lost the lock without noticing.
   */
  readonly fence: number;
}

function assertHeld({ hold, state, loss, fence, isHeld }: Owner): void {
  if (loss !== null) throw lossAgain(loss);
  const { name } = hold.protocol;
  if (state === 'released') {
    throw new LockNotHeldError(`${quoted(hold.protocol)}: this lease has been released`, { lock: name });
  }
  if (isHeld) return;
  // The time is over by our clock, and the timer that says so has not had its turn yet.
  const message = `${quoted(hold.protocol)}: its lease of ${inMs(hold.leaseMs)} has run out`;
  throw new LockLostError(message, { lock: name, reason: 'expired', fence });
}

/** What the caller holds in its hands. The owner behind it lives on when the caller throws the handle away. */
export class LeaseHandle implements Lease {
  static {
    inspectable(this, 'Lease', (lease) => (#owner in lease ? lease.#facts : null));
  }

  readonly #owner: Owner;

  constructor(owner: Owner) {
    this.#owner = owner;
    owner.handTo(this);
  }

  /** The owner behind a lease that a caller hands back to us, if the lease is of this session. */
  static ownerOf(lease: unknown, session: object): Owner | undefined {
    if (typeof lease !== 'object' || lease === null || !(#owner in lease)) return undefined;
    return lease.#owner.hold.keeper.session === session ? lease.#owner : undefined;
  }

  get name(): string {
    return this.#owner.hold.protocol.name;
  }

  get fence(): number | undefined {
    return this.#owner.fence;
  }

  get signal(): AbortSignal {
    return this.#owner.signal;
  }

  get isHeld(): boolean {
    return this.#owner.isHeld;
  }

  get remainingMs(): number {
    const { hold, isHeld } = this.#owner;
    return isHeld ? Math.max(0, hold.remainingMs(hold.keeper.session.timers.clock)) : 0;
  }

  async extend(leaseMs: number): Promise<void> {
    checkLeaseMs(leaseMs);
    const { hold } = this.#owner;
    assertHeld(this.#owner);
    const result = await hold.keeper.session.renewal.extend(hold, leaseMs);
    if (result?.is === 'kept' && this.isHeld) return;
    assertHeld(this.#owner);
    const servers = result?.is === 'failed' ? result.servers : [];
    const message = `${quoted(hold.protocol)}: could not be extended; it is still held for ${inMs(Math.floor(this.remainingMs))} (${describeServers(servers)})`;
    if (servers.some(({ kind }) => kind === 'unknown'))
      throw new LockUnknownError(message, { lock: this.name });
    throw new LockUnavailableError(message, { lock: this.name, servers });
  }

  release(): Promise<boolean> {
    const owner = this.#owner;
    return telemetry.tellsReleases ? this.#releaseTold() : owner.hold.keeper.leave(owner);
  }

  /** The end is told last, when it is known whether the lock was ours to the end. */
  async #releaseTold(): Promise<boolean> {
    const owner = this.#owner;
    const { keeper, protocol } = owner.hold;
    const { id, timers } = keeper.session;
    const nowMs = timers.clock.monotonicMs();
    const wasHeld = owner.state === 'held';
    let wasGone = false;
    try {
      const isOurs = await telemetry.release(protocol, id, owner, () => keeper.leave(owner));
      wasGone = !isOurs;
      return isOurs;
    } finally {
      // The end of a lease that is lost has been told with the loss.
      if (wasHeld && this.#owner.state === 'released') {
        telemetry.ended(protocol, owner, nowMs, wasGone ? 'gone' : undefined);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Nothing is hidden: what failed is repeated in the background and told on `holdfast:lease:late-release`.
    await this.release().catch(() => false);
  }

  /** For `console.log`. Without the holder, which of a mutex is a secret. */
  get #facts(): Facts {
    const { hold, state, fence, loss } = this.#owner;
    // The time may be over before the timer that says so has had its turn.
    const now = state === 'held' && !this.isHeld ? 'expired' : state;
    const remainingMs = Math.floor(this.remainingMs);
    return { [hold.protocol.kind]: this.name, state: now, reason: loss?.reason, fence, remainingMs };
  }

  /** For logs: no secrets. */
  toJSON(): { name: string; fence: number | undefined; isHeld: boolean; remainingMs: number } {
    const { name, fence, isHeld, remainingMs } = this;
    return { name, fence, isHeld, remainingMs };
  }
}
