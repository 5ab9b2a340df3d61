/** What the locks protect: a counter that forgives nothing, and a store that asks for fences. */
import type { Grant } from '../call-text.ts';
import type { Judge } from './judge.ts';

export class ProtectedResource {
  readonly #judge: Judge;
  readonly #counters = new Map<string, number>();
  readonly #increments = new Map<string, number>();
  /** The largest fence that each name has written with. */
  readonly #written = new Map<string, number>();
  /** Whose write was taken last, by the place of its grant. */
  readonly #place = new Map<string, number>();
  /** The blocks of fences, in the order in which the servers granted them. */
  readonly #granted = new Map<string, { holder: string; first: number; last: number }[]>();

  constructor(judge: Judge) {
    this.#judge = judge;
  }

  read(name: string): number {
    return this.#counters.get(name) ?? 0;
  }

  /** Somebody writes back what it read, plus one. */
  write(name: string, value: number): void {
    this.#counters.set(name, value);
    this.#increments.set(name, (this.#increments.get(name) ?? 0) + 1);
  }

  /** A server has granted a hold with these fences. */
  grant({ name, holder, first, count }: Grant): void {
    const blocks = this.#granted.get(name) ?? [];
    this.#granted.set(name, blocks);
    const before = blocks.at(-1);
    const last = first + count - 1;
    // The same request a second time is answered with fences of its own block.
    const isOwn = (block: { holder: string; first: number; last: number }): boolean =>
      block.holder === holder && block.first <= first && last <= block.last;
    if (blocks.some(isOwn)) return;
    if (this.#judge.areFencesSure && before !== undefined && first <= before.last) {
      this.#judge.condemn('fences', `${name}: the server granted ${first} after ${before.last}`);
    }
    blocks.push({ holder, first, last });
  }

  /** A write with a fence, which the store takes unless it has seen a larger one. */
  writeFenced(name: string, fence: number): void {
    if (fence < (this.#written.get(name) ?? 0)) return;
    this.#written.set(name, fence);
    const blocks = this.#granted.get(name) ?? [];
    const place = blocks.findLastIndex(({ first, last }) => first <= fence && fence <= last);
    if (this.#judge.areFencesSure && place < (this.#place.get(name) ?? place)) {
      this.#judge.condemn(
        'fences',
        `${name}: the store took a write of an earlier owner, with fence ${fence}`,
      );
    }
    this.#place.set(name, place);
  }

  /** Every increment counts, if nobody was ever beside the owner. */
  audit(): void {
    if (!this.#judge.isInModel) return;
    for (const [name, increments] of this.#increments) {
      const value = this.read(name);
      if (value === increments) continue;
      this.#judge.condemn('counter', `${name} was incremented ${increments} times and shows ${value}`);
    }
  }
}
