/** First come, first served. Leaving from the middle costs nothing: ten thousand waiters may all time out. */
import type { Waiter } from './waiter.ts';

/** Callers that may wait for one name in one process. Beyond it something else is wrong. */
export const WAITERS_MAX = 100_000;

export class WaiterQueue<Result> {
  #head: Waiter<Result> | null = null;
  #tail: Waiter<Result> | null = null;
  #size = 0;
  #tries = 0;
  /** Called when the last one has left. */
  onEmpty: (() => void) | null = null;

  get head(): Waiter<Result> | null {
    return this.#head;
  }

  get size(): number {
    return this.#size;
  }

  push(waiter: Waiter<Result>): void {
    waiter.queue = this;
    waiter.previous = this.#tail;
    if (this.#tail === null) this.#head = waiter;
    else this.#tail.next = waiter;
    this.#tail = waiter;
    this.#size += 1;
    if (waiter.options.isTry) this.#tries += 1;
  }

  /** Takes one out, wherever it stands. */
  remove(waiter: Waiter<Result>): void {
    if (waiter.queue !== this) return;
    if (waiter.previous === null) this.#head = waiter.next;
    else waiter.previous.next = waiter.next;
    if (waiter.next === null) this.#tail = waiter.previous;
    else waiter.next.previous = waiter.previous;
    waiter.previous = null;
    waiter.next = null;
    waiter.queue = null;
    this.#size -= 1;
    if (waiter.options.isTry) this.#tries -= 1;
    if (this.#size === 0) this.onEmpty?.();
  }

  /** Those who do not wait: `tryAcquire` that came while an attempt was under way. */
  takeTries(isOut: (waiter: Waiter<Result>) => boolean = () => true): Waiter<Result>[] {
    const tries: Waiter<Result>[] = [];
    for (let waiter = this.#head; waiter !== null && tries.length < this.#tries; waiter = waiter.next) {
      if (waiter.options.isTry) tries.push(waiter);
    }
    const out = tries.filter(isOut);
    for (const waiter of out) this.remove(waiter);
    return out;
  }

  takeAll(): Waiter<Result>[] {
    const all: Waiter<Result>[] = [];
    for (let waiter = this.#head; waiter !== null; waiter = waiter.next) all.push(waiter);
    for (const waiter of all) this.remove(waiter);
    return all;
  }
}
