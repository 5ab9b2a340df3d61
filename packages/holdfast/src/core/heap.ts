/** An item that can stand in a `Heap`. The heap writes `heapIndex`; -1 means that it stands in none. */
export interface HeapItem {
  dueMs: number;
  heapIndex: number;
}

/** A binary heap with the earliest item first. Items know their place, so that removing one needs no search. */
export class Heap<Item extends HeapItem> {
  readonly #items: Item[] = [];

  get size(): number {
    return this.#items.length;
  }

  peek(): Item | undefined {
    return this.#items[0];
  }

  push(item: Item): void {
    item.heapIndex = this.#items.length;
    this.#items.push(item);
    this.#up(item);
  }

  /** Takes the item out. Harmless when it is not in. */
  remove(item: Item): void {
    const index = item.heapIndex;
    if (index < 0) return;
    item.heapIndex = -1;
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    this.#items[index] = last;
    last.heapIndex = index;
    this.#up(last);
    this.#down(last);
  }

  /** Puts the item where its changed `dueMs` belongs, or adds it. */
  reschedule(item: Item, dueMs: number): void {
    item.dueMs = dueMs;
    if (item.heapIndex < 0) {
      this.push(item);
    } else {
      this.#up(item);
      this.#down(item);
    }
  }

  #up(item: Item): void {
    const items = this.#items;
    let index = item.heapIndex;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = items[parentIndex] as Item;
      if (parent.dueMs <= item.dueMs) break;
      items[index] = parent;
      parent.heapIndex = index;
      index = parentIndex;
    }
    items[index] = item;
    item.heapIndex = index;
  }

  #down(item: Item): void {
    const items = this.#items;
    const size = items.length;
    let index = item.heapIndex;
    for (;;) {
      let childIndex = 2 * index + 1;
      if (childIndex >= size) break;
      const right = items[childIndex + 1];
      if (right !== undefined && right.dueMs < (items[childIndex] as Item).dueMs) childIndex += 1;
      const child = items[childIndex] as Item;
      if (child.dueMs >= item.dueMs) break;
      items[index] = child;
      child.heapIndex = index;
      index = childIndex;
    }
    items[index] = item;
    item.heapIndex = index;
  }
}
