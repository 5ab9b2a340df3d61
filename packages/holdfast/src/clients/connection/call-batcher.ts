/**
 * Gathers the calls that callers make at the same moment, so that they travel as one request: that costs client and
 * server a fraction of one request each.
 *
 * A lone call is written at once. While several are on their way a call waits for the end of the present turn of the
 * event loop, when everybody who heard an answer in it has said what comes next. What gathered is not written as one
 * piece either: the server works on one bundle while we make up the next, and neither waits for the other.
 *
 * Two calls on one key are never in it together, because one may be there to undo the other: the first is written
 * before the second is taken in. That leaves us free to sort the rest by script.
 */

import type { ScriptText } from '../client.ts';
import type { Call } from './call.ts';

/** In a smaller one the request costs as much as the work in it. */
const BUNDLE_MIN = 32;

/** Into how many bundles all calls under way are divided: one travels, one is worked on, one is made up. */
const BUNDLES = 3;

/**
 * With fewer than so many on their way a call is as good as alone. One is common where nobody else calls: of several
 * servers the slower ones have not answered yet when the next call comes.
 */
const IN_FLIGHT_MIN = 2;

/** What takes the calls on. */
export interface TurnTarget {
  /** How many calls are on their way. */
  inFlight(): number;
  /** All of one script. */
  write(calls: readonly Call[]): void;
}

/** Kept from the beginning: whoever fakes timers for a test of theirs must not stop ours half-way. */
const { setImmediate } = globalThis;
const nextTick: (callback: () => void) => void = process.nextTick.bind(process);

export class Turn {
  readonly #target: TurnTarget;
  readonly #bundleMax: number;
  readonly #byScript = new Map<ScriptText, Call[]>();
  readonly #keys = new Set<string>();
  #size = 0;
  #isOn = false;

  /** With a `bundleMax` of 1 it takes none: every call goes by itself. */
  constructor(target: TurnTarget, bundleMax: number) {
    this.#target = target;
    this.#bundleMax = bundleMax;
  }

  /** Whether it will be written later in this turn. If not, it is the caller's to write now. */
  take(call: Call): boolean {
    const { script, keys } = call.request;
    const [key] = keys;
    if (script.bundle === undefined || key === undefined || this.#bundleMax === 1) return false;
    if (!this.#isOn) {
      if (this.#target.inFlight() < IN_FLIGHT_MIN) return false;
      this.#isOn = true;
      nextTick(this.#pass);
    }
    if (this.#keys.has(key)) this.flush();
    this.#keys.add(key);
    this.#size += 1;
    const same = this.#byScript.get(script);
    if (same === undefined) this.#byScript.set(script, [call]);
    else same.push(call);
    return true;
  }

  /** Writes all of it now. */
  flush(): void {
    while (this.#size > 0) this.#writeSome(this.#bundleMax);
    this.#keys.clear();
  }

  readonly #pass = (): void => {
    const share = Math.ceil((this.#target.inFlight() + this.#size) / BUNDLES);
    const max = Math.min(this.#bundleMax, Math.max(BUNDLE_MIN, share));
    for (let written = 0; this.#size > 0 && written < max; ) written += this.#writeSome(max);
    if (this.#size > 0) {
      setImmediate(this.#pass);
      return;
    }
    this.#isOn = false;
    this.#keys.clear();
  };

  /** One bundle, of the script whose turn it is: one that has more goes to the end. Returns how many it wrote. */
  #writeSome(max: number): number {
    for (const [script, calls] of this.#byScript) {
      this.#byScript.delete(script);
      if (calls.length > max) this.#byScript.set(script, calls.slice(max));
      const some = calls.slice(0, max);
      this.#size -= some.length;
      this.#target.write(some);
      return some.length;
    }
    return 0;
  }
}
