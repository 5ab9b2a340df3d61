/** A queue that an item can leave from the middle at no cost: ten thousand waiters may all time out. */

/** An item of a `LinkedQueue`, which writes these fields. An item stands in one queue at most. */
export interface LinkedItem<Item> {
  previous: Item | null;
  next: Item | null;
  queue: object | null;
}

export class LinkedQueue<Item extends LinkedItem<Item>> {
  #head: Item | null = null;
  #tail: Item | null = null;
  #size = 0;

  get head(): Item | null {
    return this.#head;
  }

  get size(): number {
    return this.#size;
  }

  push(item: Item): void {
    item.queue = this;
    item.previous = this.#tail;
    if (this.#tail === null) this.#head = item;
    else this.#tail.next = item;
    this.#tail = item;
    this.#size += 1;
  }

  /** Puts the item before all others. */
  pushFirst(item: Item): void {
    item.queue = this;
    item.next = this.#head;
    if (this.#head === null) this.#tail = item;
    else this.#head.previous = item;
    this.#head = item;
    this.#size += 1;
  }

  /** Takes the item out, wherever it stands. False when it does not stand in this queue. */
  remove(item: Item): boolean {
    if (item.queue !== this) return false;
    if (item.previous === null) this.#head = item.next;
    else item.previous.next = item.next;
    if (item.next === null) this.#tail = item.previous;
    else item.next.previous = item.previous;
    item.previous = null;
    item.next = null;
    item.queue = null;
    this.#size -= 1;
    return true;
  }

  /** First to last. An item may leave while it is visited. */
  *[Symbol.iterator](): Generator<Item, void, undefined> {
    let item = this.#head;
    while (item !== null) {
      const { next } = item;
      yield item;
      item = next;
    }
  }
}
