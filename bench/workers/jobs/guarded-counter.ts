/**
 * A counter that is read, and written one turn of the event loop later, as no program should without a lock. If the
 * counter changed in between, two holders were inside at once. The counter is a file, so that processes can share it.
 */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';

export class GuardedCounter {
  readonly #file: number;
  readonly #cell = new Float64Array(1);
  #violations = 0;

  constructor(path: string) {
    this.#file = openSync(path, 'r+');
  }

  get violations(): number {
    return this.#violations;
  }

  /** The critical section. */
  async increment(): Promise<void> {
    const before = this.#read();
    await nextTurn();
    if (this.#read() !== before) this.#violations += 1;
    this.#cell[0] = before + 1;
    writeSync(this.#file, this.#cell, 0, this.#cell.byteLength, 0);
  }

  close(): void {
    closeSync(this.#file);
  }

  #read(): number {
    readSync(this.#file, this.#cell, 0, this.#cell.byteLength, 0);
    return this.#cell[0] ?? Number.NaN;
  }
}
