/** What becomes of messages on channels: as a rule they come once and in time. */
import type { Fault } from './fault-selection.ts';
import type { Prng } from './prng.ts';

const LOST_CHANCE = 0.15;
const DOUBLED_CHANCE = 0.2;
const LATE_CHANCE = 0.2;

/** Within a claim, about as long as one, and longer. */
const LATE_MS: readonly number[] = [5, 40, 300, 700, 1_050, 2_500, 6_000];

export class MessageFaults {
  readonly #faults: ReadonlySet<Fault>;
  readonly #prng: Prng;
  isOver = false;

  constructor(faults: ReadonlySet<Fault>, prng: Prng) {
    this.#faults = faults;
    this.#prng = prng;
  }

  /** How late each copy of a message is. */
  delaysMs(): readonly number[] {
    if (this.isOver) return [0];
    const has = (fault: Fault, chance: number): boolean =>
      this.#faults.has(fault) && this.#prng.chance(chance);
    if (has('message lost', LOST_CHANCE)) return [];
    const firstMs = has('message late', LATE_CHANCE) ? this.#prng.pick(LATE_MS) : 0;
    return has('message doubled', DOUBLED_CHANCE) ? [firstMs, this.#prng.pick(LATE_MS)] : [firstMs];
  }
}
