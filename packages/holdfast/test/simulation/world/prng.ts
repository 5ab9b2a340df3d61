/** Randomness that a seed repeats, on any machine: integers only, nothing that rounds differently elsewhere. */
import type { Random } from '../../../src/index.ts';

export class Prng implements Random {
  readonly #state = new Uint32Array(4);

  constructor(seed: number) {
    this.#state.set([seed >>> 0, Math.floor(seed / 2 ** 32) >>> 0, 0x9e3779b9, 1]);
    // The first numbers of neighbouring seeds are alike.
    for (let i = 0; i < 16; i += 1) this.next();
  }

  /** 32 random bits. */
  next(): number {
    const s = this.#state;
    const [a = 0, b = 0, c = 0, d = 0] = s;
    const sum = (a + b + d) >>> 0;
    s[0] = b ^ (b >>> 9);
    s[1] = c + (c << 3);
    s[2] = ((c << 21) | (c >>> 11)) + sum;
    s[3] = d + 1;
    return sum;
  }

  fraction(): number {
    return this.next() / 2 ** 32;
  }

  /** An integer from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + (this.next() % (high - low + 1));
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    if (items.length === 0) throw new RangeError('expected something to pick from, got nothing');
    return items[this.next() % items.length] as Item;
  }

  /** A generator of its own, so that one part of a world does not disturb the numbers of another. */
  fork(): Prng {
    return new Prng(this.next() + this.next() * 2 ** 20);
  }

  /** Of version 8, as those of `Locks`: scripts tell guests by it. */
  uuid(): string {
    const hex = this.token();
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  }

  /** With the mark of ours: scripts tell guests by it. */
  token(): string {
    return `${Array.from({ length: 4 }, () => this.next().toString(16).padStart(8, '0')).join('')}:holdfast`;
  }
}
