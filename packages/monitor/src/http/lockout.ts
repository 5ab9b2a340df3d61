/** Slows down who guesses: after a failed login an address waits 1 s, doubling to 60 s; all together may fail 20 times a second. */

const FIRST_MS = 1_000;
const MOST_MS = 60_000;
/** Failures of an address are forgotten this long after the last. */
const FORGET_MS = 600_000;
const GLOBAL_PER_SECOND = 20;
const ADDRESSES_MAX = 10_000;

interface Failures {
  count: number;
  at: number;
}

export class Lockout {
  readonly #now: () => number;
  readonly #byAddress = new Map<string, Failures>();
  #second = 0;
  #failedInSecond = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** How long that address must wait before its next attempt is looked at; 0: not at all. */
  waitMs(address: string): number {
    const now = this.#now();
    if (Math.floor(now / 1000) === this.#second && this.#failedInSecond >= GLOBAL_PER_SECOND) {
      return 1_000 - (now % 1_000);
    }
    const failures = this.#byAddress.get(address);
    if (failures === undefined) return 0;
    if (now - failures.at > FORGET_MS) {
      this.#byAddress.delete(address);
      return 0;
    }
    const pauseMs = Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(16, failures.count - 1));
    return Math.max(0, failures.at + pauseMs - now);
  }

  failed(address: string): void {
    const now = this.#now();
    const second = Math.floor(now / 1000);
    if (second !== this.#second) this.#failedInSecond = 0;
    this.#second = second;
    this.#failedInSecond += 1;
    const failures = this.#byAddress.get(address) ?? { count: 0, at: now };
    // Put last, so that the oldest is dropped when there are too many.
    this.#byAddress.delete(address);
    this.#byAddress.set(address, { count: failures.count + 1, at: now });
    if (this.#byAddress.size > ADDRESSES_MAX) {
      this.#byAddress.delete(this.#byAddress.keys().next().value as string);
    }
  }

  succeeded(address: string): void {
    this.#byAddress.delete(address);
  }
}
