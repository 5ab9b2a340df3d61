/** Counts who is inside what a lock protects. Two holders at once are a violation. */
import { Violation } from '../violation.ts';

interface Claim {
  readonly isHeld: boolean;
}

/** For work without a lease at hand: its caller has just been let in. */
const HELD: Claim = { isHeld: true };

export class CriticalSection {
  readonly #inside = new Set<Claim>();
  #runs = 0;

  /** How often it was entered. */
  get runs(): number {
    return this.#runs;
  }

  /** A holder that has lost its lease does not count, even when its work has not ended yet. */
  async run<Result>(work: () => Promise<Result> | Result, lease: Claim = HELD): Promise<Result> {
    const claim = {
      get isHeld() {
        return lease.isHeld;
      },
    };
    this.#inside.add(claim);
    this.#runs += 1;
    this.#check();
    try {
      const result = await work();
      this.#check();
      return result;
    } finally {
      this.#inside.delete(claim);
    }
  }

  #check(): void {
    const holders = [...this.#inside].filter(({ isHeld }) => isHeld).length;
    if (holders > 1) throw new Violation(`${holders} holders at once`);
  }
}
