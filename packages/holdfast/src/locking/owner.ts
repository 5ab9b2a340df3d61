/**
 * One local owner of a hold: who holds the lock right now, inside this process.
 *
 * A hold serves a chain of owners. The root got the hold from the server or from the local owner before it; each link
 * below is a re-entry of the link above. The chain keeps released links while something below them is held.
 *
 * - `held`: may claim the lock while the deadline of the hold is ahead. Out: `released`, `lost`.
 * - `released`: gave the lock back. Final: nothing touches the owner any more.
 * - `lost`: can no longer claim the lock. Final: `loss` says why, and the signal has aborted or is about to.
 */
import type { LockLostError } from '../errors.ts';
import { assert } from '../runtime/assert.ts';
import { LinkedQueue } from '../runtime/linked-queue.ts';
import type { AcquiredVia } from '../telemetry/channels.ts';
import { newLeaseId, telemetry } from '../telemetry/publish.ts';
import type { Hold, HoldOwner } from './hold.ts';
import type { Waiter } from './waiting/waiter.ts';

/** The owner above has released meanwhile: whoever wanted to enter below it must come in by the entrance. */
export const ENDED = 'ended';

/** Re-entries of one owner that wait for each other: two parallel branches under one owner must exclude each other. */
export type Siblings = LinkedQueue<Waiter<Owner | typeof ENDED>>;

export class Owner implements HoldOwner {
  readonly hold: Hold;
  readonly fence: number | undefined;
  readonly parent: Owner | null;
  /** How the caller got the lock. */
  readonly via: AcquiredVia;
  /** When the caller got the lease; null: nobody listens for the ends of leases. */
  sinceMs: number | null = null;
  /** The re-entry that runs under this owner now: at most one. */
  child: Owner | null = null;
  /** Null until the first re-entry waits for another. */
  #siblings: Siblings | null = null;
  /**
   * The lease that was handed to the caller. Null: the owner counts as held also when nobody has its lease any more. The
   * reference becomes weak when it is first looked at: a `WeakRef` costs 2 to 3 µs to make, and most leases are released
   * within milliseconds, before anybody looks.
   */
  #lease: object | WeakRef<object> | null = null;
  #id: string | null = null;
  #end: 'released' | LockLostError | null = null;
  /** Null until somebody asks for the signal. */
  #controller: AbortController | null = null;

  /** Enters the hold. A re-entry has the fence of the owner above. */
  constructor(hold: Hold, fence: number | undefined, parent: Owner | null, via: AcquiredVia) {
    this.hold = hold;
    this.fence = fence;
    this.parent = parent;
    this.via = via;
    hold.addOwner(this);
  }

  /** Names the lease in messages. Made when first asked for: nobody may listen. */
  get id(): string {
    this.#id ??= newLeaseId(this.hold.keeper.session.id);
    return this.#id;
  }

  get state(): 'held' | 'released' | 'lost' {
    if (this.#end === null) return 'held';
    return this.#end === 'released' ? 'released' : 'lost';
  }

  get loss(): LockLostError | null {
    return this.#end === 'released' ? null : this.#end;
  }

  get isHeld(): boolean {
    return this.#end === null && this.hold.isValid(this.hold.keeper.session.timers.clock);
  }

  get siblings(): Siblings {
    this.#siblings ??= new LinkedQueue();
    return this.#siblings;
  }

  /**
   * Made when first asked for: most callers never look. Whoever has the signal depends on the lock without having the
   * lease, and cannot be seen from here: `AbortSignal.any` does not keep the signals that it follows.
   */
  get signal(): AbortSignal {
    this.keep();
    this.#controller ??= new AbortController();
    this.tellLoss();
    return this.#controller.signal;
  }

  /** The lease that the caller was given. When it is garbage-collected, nobody can release the lock any more. */
  handTo(lease: object): void {
    this.#lease = lease;
    if (telemetry.tellsEnds) this.sinceMs = this.hold.keeper.session.timers.clock.monotonicMs();
  }

  /** From now on only a release or a loss ends the ownership, whoever still has the lease. */
  keep(): void {
    this.#lease = null;
  }

  /** Asked at each renewal: what nobody can release must not be renewed for ever. */
  isAbandoned(): boolean {
    const lease = this.#lease;
    if (lease instanceof WeakRef) return lease.deref() === undefined;
    if (lease !== null) this.#lease = new WeakRef(lease);
    return false;
  }

  /** Held to released. */
  markReleased(): void {
    this.#settle('released');
    this.hold.removeOwner(this);
  }

  /** Held to lost. */
  markLost(loss: LockLostError): void {
    this.#settle(loss);
  }

  /** Re-entries that waited for their turn under this owner go back to the entrance. */
  #settle(end: 'released' | LockLostError): void {
    assert(this.#end === null, () => `an owner ends once, and this one is ${this.state}`);
    this.#end = end;
    for (const waiter of this.#siblings ?? []) waiter.resolve(ENDED);
  }

  tellLoss(): void {
    const { loss } = this;
    if (loss !== null) this.#controller?.abort(loss);
  }
}
