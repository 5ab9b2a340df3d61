/**
 * One local owner of a hold: who holds the lock right now, inside this process.
 *
 * A hold serves a chain of owners. The root got it from the server or from the local owner before it; each link
 * below is a re-entry of the one above. The chain keeps released links while something below them is held.
 *
 * - `held`: may claim the lock while the hold's deadline is ahead. Out: `released`, `lost`.
 * - `released`: gave it back. Final: nothing touches it any more.
 * - `lost`: can no longer claim it. Final: `loss` says why, and the signal has aborted or is about to.
 */
import type { LockLostError } from '../errors.ts';
import type { Hold } from './hold.ts';
import type { Siblings } from './siblings.ts';

export type OwnerState = 'held' | 'released' | 'lost';

export class Owner {
  readonly hold: Hold;
  readonly parent: Owner | null;
  readonly fence: number | undefined;
  /** The re-entry that runs under this owner now: at most one. */
  child: Owner | null = null;
  /** Re-entries that wait for that one to end; made when the first comes. */
  siblings: Siblings | null = null;
  /** The lease handed to the caller; after the first look only a weak hold on it. */
  lease: object | null = null;
  #weakLease: WeakRef<object> | null = null;
  #state: OwnerState = 'held';
  #loss: LockLostError | null = null;
  #controller: AbortController | null = null;

  constructor(hold: Hold, fence: number | undefined, parent: Owner | null) {
    this.hold = hold;
    this.fence = fence;
    this.parent = parent;
  }

  get state(): OwnerState {
    return this.#state;
  }

  get loss(): LockLostError | null {
    return this.#loss;
  }

  /** Made when first asked for: most owners never look. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#loss !== null) this.#controller.abort(this.#loss);
    return this.#controller.signal;
  }

  /**
   * Whether its lease was thrown away unreleased: nobody can release it any more, and it must not be renewed for
   * ever. Asked at each renewal. A weak reference costs more than the rest of an owner, so it is made when first
   * asked, which short owners never live to see.
   */
  isAbandoned(): boolean {
    if (this.#weakLease !== null) return this.#weakLease.deref() === undefined;
    if (this.lease !== null) this.#weakLease = new WeakRef(this.lease);
    this.lease = null;
    return false;
  }

  markReleased(): void {
    this.#state = 'released';
  }

  /** Settles the state; `tellLoss` lets callbacks run once everything else is settled too. */
  markLost(loss: LockLostError): void {
    this.#state = 'lost';
    this.#loss = loss;
  }

  tellLoss(): void {
    if (this.#loss !== null) this.#controller?.abort(this.#loss);
  }
}
