/** An item that can stand in a `Heap`, which writes its place here; -1 means that it stands in none. */
export interface HeapItem {
  heapIndex: number;
}

/**
 * A binary heap with the earliest item first. Items know their place, so that removing one needs no search; the heap
 * knows their times, in an array of plain numbers, where each takes a third of what it would in a field of its item.
 */
export class Heap<Item extends HeapItem> {
  readonly #items: Item[] = [];
  readonly #duesMs: number[] = [];

  get size(): number {
    return this.#items.length;
  }

  peek(): Item | undefined {
    return this.#items[0];
  }

  /** When the first is due; never, when there is none. */
  get firstDueMs(): number {
    return this.#duesMs[0] ?? Number.POSITIVE_INFINITY;
  }

  /** Puts the item where that time belongs, whether it is in already or not. */
  put(item: Item, dueMs: number): void {
    const isIn = item.heapIndex >= 0;
    const index = this.#up(isIn ? item.heapIndex : this.#items.length, dueMs);
    this.#settle(item, dueMs, isIn ? this.#down(index, dueMs) : index);
  }

  /** Takes the item out. Harmless when it is not in. */
  remove(item: Item): void {
    const index = item.heapIndex;
    if (index < 0) return;
    item.heapIndex = -1;
    const last = this.#items.pop();
    const lastDueMs = this.#duesMs.pop();
    if (last === undefined || lastDueMs === undefined || last === item) return;
    this.#settle(last, lastDueMs, this.#down(this.#up(index, lastDueMs), lastDueMs));
  }

  #settle(item: Item, dueMs: number, index: number): void {
    this.#items[index] = item;
    this.#duesMs[index] = dueMs;
    item.heapIndex = index;
  }

  /** Moves the gap at `index` up to where that time may stand; returns where. */
  #up(from: number, dueMs: number): number {
    let index = from;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parentDueMs = this.#duesMs[parentIndex] as number;
      if (parentDueMs <= dueMs) break;
      this.#settle(this.#items[parentIndex] as Item, parentDueMs, index);
      index = parentIndex;
    }
    return index;
  }

  /** Moves the gap at `index` down to where that time may stand; returns where. */
  #down(from: number, dueMs: number): number {
    const duesMs = this.#duesMs;
    const size = this.#items.length;
    let index = from;
    for (;;) {
      let childIndex = 2 * index + 1;
      if (childIndex >= size) break;
      const rightDueMs = duesMs[childIndex + 1];
      if (rightDueMs !== undefined && rightDueMs < (duesMs[childIndex] as number)) childIndex += 1;
      const childDueMs = duesMs[childIndex] as number;
      if (childDueMs >= dueMs) break;
      this.#settle(this.#items[childIndex] as Item, childDueMs, index);
      index = childIndex;
    }
    return index;
  }
}
