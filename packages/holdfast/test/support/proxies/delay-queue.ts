/** One direction of a connection: things happen in the order they came, late if asked, not at all while held. */

interface Item {
  readonly dueMs: number;
  readonly run: () => void;
}

export class DelayQueue {
  #queue: Item[] = [];
  #timer: NodeJS.Timeout | undefined;
  #lastDueMs = 0;
  #isHeld = false;

  /** Runs it now if nothing is before it; a late one delays all that come after, as in a stream of bytes. */
  add(run: () => void, delayMs: number): void {
    this.#lastDueMs = Math.max(this.#lastDueMs, performance.now() + delayMs);
    this.#queue.push({ dueMs: this.#lastDueMs, run });
    if (this.#queue.length === 1) this.#advance();
  }

  /** Everything that waits for its time has it now. */
  hurry(): void {
    this.#lastDueMs = 0;
    this.#queue = this.#queue.map(({ run }) => ({ dueMs: 0, run }));
    this.#advance();
  }

  hold(): void {
    this.#isHeld = true;
    clearTimeout(this.#timer);
  }

  release(): void {
    this.#isHeld = false;
    this.#advance();
  }

  /** Forgets what has not happened. */
  clear(): void {
    this.#queue = [];
    clearTimeout(this.#timer);
  }

  #advance(): void {
    clearTimeout(this.#timer);
    for (let item = this.#queue[0]; item !== undefined && !this.#isHeld; item = this.#queue[0]) {
      const leftMs = item.dueMs - performance.now();
      if (leftMs > 0) {
        this.#timer = setTimeout(() => this.#advance(), Math.ceil(leftMs));
        return;
      }
      // Taken off first, and looked up again after: running it may clear or hold this queue.
      this.#queue.shift();
      item.run();
    }
  }
}
