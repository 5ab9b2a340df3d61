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

interface Kin {
  readonly parent: Owner | null;
  /** The re-entry that runs under this owner now: at most one. */
  child: Owner | null;
  /** Re-entries that wait for that one to end; made when the first comes. */
  siblings: Siblings | null;
}

export class Owner {
  readonly hold: Hold;
  readonly fence: number | undefined;
  /** Made with the first re-entry: most owners have none above them and none below. */
  #kin: Kin | null = null;
  /** The lease handed to the caller; after the first look only a weak hold on it. Null: never asked after again. */
  #lease: object | WeakRef<object> | null = null;
  /** How it ended, if it has. */
  #end: 'released' | LockLostError | null = null;
  #controller: AbortController | null = null;

  constructor(hold: Hold, fence: number | undefined, parent: Owner | null) {
    this.hold = hold;
    this.fence = fence;
    if (parent !== null) this.#kin = { parent, child: null, siblings: null };
  }

  get parent(): Owner | null {
    return this.#kin?.parent ?? null;
  }

  get child(): Owner | null {
    return this.#kin?.child ?? null;
  }

  set child(child: Owner | null) {
    this.#kin ??= { parent: null, child: null, siblings: null };
    this.#kin.child = child;
  }

  get siblings(): Siblings | null {
    return this.#kin?.siblings ?? null;
  }

  set siblings(siblings: Siblings | null) {
    this.#kin ??= { parent: null, child: null, siblings: null };
    this.#kin.siblings = siblings;
  }

  get state(): OwnerState {
    if (this.#end === null) return 'held';
    return this.#end === 'released' ? 'released' : 'lost';
  }

  get loss(): LockLostError | null {
    return this.#end === 'released' ? null : this.#end;
  }

  /**
   * Made when first asked for: most owners never look. Whoever has it depends on the lock without having the lease,
   * and cannot be seen from here: `AbortSignal.any` does not keep the signals that it follows.
   */
  get signal(): AbortSignal {
    this.keep();
    this.#controller ??= new AbortController();
    this.tellLoss();
    return this.#controller.signal;
  }

  /**
   * Whether its lease was thrown away unreleased: nobody can release it any more, and it must not be renewed for
   * ever. Asked at each renewal. A weak reference costs more than the rest of an owner, so it is made when first
   * asked, which short owners never live to see.
   */
  isAbandoned(): boolean {
    if (this.#lease instanceof WeakRef) return this.#lease.deref() === undefined;
    if (this.#lease !== null) this.#lease = new WeakRef(this.#lease);
    return false;
  }

  handTo(lease: object): void {
    this.#lease = lease;
  }

  /** From now on only a release or a loss ends it: it counts as held also when nobody has its lease any more. */
  keep(): void {
    this.#lease = null;
  }

  markReleased(): void {
    this.#end = 'released';
  }

  /** Settles the state; `tellLoss` lets callbacks run once everything else is settled too. */
  markLost(loss: LockLostError): void {
    this.#end = loss;
  }

  tellLoss(): void {
    const { loss } = this;
    if (loss !== null) this.#controller?.abort(loss);
  }
}
