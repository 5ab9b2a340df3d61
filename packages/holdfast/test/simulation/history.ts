/** What happened, as a number to compare and, when somebody wants to read it, as lines. */

const FNV_PRIME = 0x01000193;

export class History {
  readonly #isKept: boolean;
  readonly #lines: string[] = [];
  #hash = 0x811c9dc5;
  #count = 0;

  constructor(isKept: boolean) {
    this.#isKept = isKept;
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  /** The same for two runs exactly when the same things happened in them. */
  get hash(): string {
    return `${this.#count}-${(this.#hash >>> 0).toString(16).padStart(8, '0')}`;
  }

  /** `who` and `what` are short: they are hashed each time, and shown when the history is kept. */
  note(atMs: number, who: string, what: string): void {
    this.#count += 1;
    this.#mix(Math.round(atMs * 1_000));
    this.#mixText(who);
    this.#mixText(what);
    if (this.#isKept) this.#keep(atMs, who, what);
  }

  /** Something that is shown and not counted: it follows from the rest. */
  remark(atMs: number, who: string, what: string): void {
    if (this.#isKept) this.#keep(atMs, who, what);
  }

  #keep(atMs: number, who: string, what: string): void {
    this.#lines.push(`${atMs.toFixed(3).padStart(12)}  ${who.padEnd(8)} ${what}`);
  }

  #mix(value: number): void {
    this.#hash = Math.imul(this.#hash ^ (value | 0), FNV_PRIME);
  }

  #mixText(text: string): void {
    for (let i = 0; i < text.length; i += 1) this.#mix(text.charCodeAt(i));
  }
}
