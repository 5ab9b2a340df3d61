/** The callers of one process in a line: the next one starts when the one before it says so. */
export class LocalQueue {
  #tail: Promise<void> = Promise.resolve();

  /** Resolves when it is our turn; the function it gives ends the turn. */
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
