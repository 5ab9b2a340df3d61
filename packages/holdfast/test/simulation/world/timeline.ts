/** True time, and everything that will happen in it, in one order. */

interface Event {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export class Timeline {
  #nowMs = 0;
  #made = 0;
  readonly #heap: Event[] = [];

  get nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, run: () => void): void {
    this.at(this.#nowMs + delayMs, run);
  }

  /** Things at the same time happen in the order in which they were put down. */
  at(atMs: number, run: () => void): void {
    this.#made += 1;
    const heap = this.#heap;
    const event = { atMs: Math.max(atMs, this.#nowMs), order: this.#made, run };
    let index = heap.push(event) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(event, heap[parent] as Event)) break;
      heap[index] = heap[parent] as Event;
      index = parent;
    }
    heap[index] = event;
  }

  /** Lets things happen until a time, or until told to stop. What each sets in motion ends before the next. */
  async run(untilMs: number, isOver: () => boolean = () => false): Promise<void> {
    await nextTurn();
    for (let next = this.#heap[0]; next !== undefined && next.atMs <= untilMs; next = this.#heap[0]) {
      if (isOver()) return;
      this.#take();
      this.#nowMs = next.atMs;
      next.run();
      await nextTurn();
    }
    if (!isOver()) this.#nowMs = Math.max(this.#nowMs, untilMs);
  }

  #take(): void {
    const heap = this.#heap;
    const last = heap.pop() as Event;
    if (heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child += 1;
      if (!isBefore(heap[child] as Event, last)) break;
      heap[index] = heap[child] as Event;
      index = child;
    }
    heap[index] = last;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs !== b.atMs ? a.atMs < b.atMs : a.order < b.order;
}
