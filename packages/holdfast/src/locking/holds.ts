/** The holds of one entrance. */
import type { ResolvedAcquireOptions } from '../options/options.ts';
import type { Hold } from './hold.ts';
import { type HoldingServices, hasRoom, lingers } from './hold-life.ts';

export class Holds {
  readonly #services: HoldingServices;
  #all: readonly Hold[] = [];

  constructor(services: HoldingServices) {
    this.#services = services;
  }

  get all(): readonly Hold[] {
    return this.#all;
  }

  get size(): number {
    return this.#all.length;
  }

  add(hold: Hold): void {
    this.#all = this.#all.concat(hold);
  }

  drop(hold: Hold): void {
    this.#all = this.#all.filter((other) => other !== hold);
  }

  /** A hold that may serve one more owner; null: there is none. */
  roomFor(options: ResolvedAcquireOptions): Hold | null {
    return this.#all.find((hold) => hasRoom(this.#services, hold, options)) ?? null;
  }

  /** A hold that is to be given back, because nobody owns it, and it is not kept for a caller to come. */
  unowned(isWanted: boolean): Hold | undefined {
    return this.#all.find((hold) => hold.owners.length === 0 && (isWanted || !this.isKept(hold)));
  }

  /** Whether the hold is kept although nobody owns it. */
  isKept(hold: Hold): boolean {
    return lingers(this.#services, hold);
  }

  /** No hold is kept unowned any more. */
  endLinger(): void {
    for (const hold of this.#all) hold.lingerUntilMs = 0;
  }
}
