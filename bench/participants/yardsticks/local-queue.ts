/** Queues the callers of one process: each starts when the one before it ends its turn. */
export class LocalQueue {
  #tail: Promise<void> = Promise.resolve();

  /** Resolves when the caller's turn begins, with the function that ends the turn. */
  async turn(): Promise<() => void> {
    const before = this.#tail;
    let end = (): void => {};
    this.#tail = new Promise((resolve) => {
      end = resolve;
    });
    await before;
    return end;
  }
}
