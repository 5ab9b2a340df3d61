/** A participant's side of the journal: see `support/journal.ts`. */
import { closeSync, openSync, writeSync } from 'node:fs';

export class JournalWriter {
  readonly #file: number;
  readonly #who: string;

  constructor(path: string, who: string) {
    this.#file = openSync(path, 'a');
    this.#who = who;
  }

  enter(fence: number): void {
    writeSync(this.#file, `enter ${this.#who} ${Date.now()} ${fence}\n`);
  }

  leave(): void {
    writeSync(this.#file, `leave ${this.#who} ${Date.now()} 0\n`);
  }

  close(): void {
    closeSync(this.#file);
  }
}
