/**
 * A reference to an object that becomes weak when it is first looked at. A `WeakRef` costs 2 to 3 µs to make, and most
 * objects that could be watched (leases that are released within milliseconds) are never looked at.
 */
export class WeakLater<Target extends object> {
  #target: Target | WeakRef<Target>;

  constructor(target: Target) {
    this.#target = target;
  }

  /** Whether the object has been garbage-collected. False at the first look, which lets go of it. */
  isGone(): boolean {
    if (this.#target instanceof WeakRef) return this.#target.deref() === undefined;
    this.#target = new WeakRef(this.#target);
    return false;
  }
}
