/**
 * Gathers the calls that callers make at the same moment, so that several are sent as one request, a bundle: that costs
 * client and server a fraction of one request for each call.
 *
 * A lone call is written at once. While several are in flight a call waits for the end of the present turn of the
 * event loop, when everybody who got an answer in it has made the next call. The gathered calls are written as several
 * bundles: the server works on one while we make up the next, and neither waits for the other.
 *
 * Two calls on one key are never gathered together, because one may be there to undo the other: the first is written
 * before the second is taken. That leaves us free to sort the rest by script.
 */

import type { ScriptCall, ScriptText } from '../client.ts';
import type { Call } from './call.ts';

/** In a smaller bundle the request costs as much as the work in it. */
const BUNDLE_MIN = 32;

/** Into how many bundles the calls in flight are divided: one on the network, one at the server, one being made up. */
const BUNDLES = 3;

/**
 * Below this many calls in flight, write at once. One call in flight is normal in a quorum: slower nodes are still
 * answering when the next call comes.
 */
const IN_FLIGHT_MIN = 2;

/** Where the gathered calls go. */
export interface BatchTarget {
  /** How many calls are in flight. */
  inFlight(): number;
  /** All of one script. */
  write(calls: readonly Call[]): void;
}

/** Taken at load time: users who fake timers in their tests must not stop a write of ours half-way. */
const { setImmediate } = globalThis;
const nextTick: (callback: () => void) => void = process.nextTick.bind(process);

export class CallBatcher {
  readonly #target: BatchTarget;
  readonly #bundleMax: number;
  readonly #callsByScript = new Map<ScriptText, Call[]>();
  readonly #keys = new Set<string>();
  #size = 0;
  #isScheduled = false;

  /** With a `bundleMax` of 1 it takes no call: every call goes by itself. */
  constructor(target: BatchTarget, bundleMax: number) {
    this.#target = target;
    this.#bundleMax = bundleMax;
  }

  /** Whether the call will be written later in this turn. If not, it is the caller's to write now. */
  take(call: Call, { script, keys: [key] }: ScriptCall): boolean {
    if (script.bundle === undefined || key === undefined || this.#bundleMax === 1) return false;
    if (!this.#isScheduled) {
      if (this.#target.inFlight() < IN_FLIGHT_MIN) return false;
      this.#isScheduled = true;
      nextTick(this.#writeBundles);
    }
    if (this.#keys.has(key)) this.flush();
    this.#keys.add(key);
    this.#size += 1;
    const same = this.#callsByScript.get(script);
    if (same === undefined) this.#callsByScript.set(script, [call]);
    else same.push(call);
    return true;
  }

  /** Writes everything now. */
  flush(): void {
    while (this.#size > 0) this.#writeBundle(this.#bundleMax);
    this.#keys.clear();
  }

  readonly #writeBundles = (): void => {
    const share = Math.ceil((this.#target.inFlight() + this.#size) / BUNDLES);
    const max = Math.min(this.#bundleMax, Math.max(BUNDLE_MIN, share));
    for (let written = 0; this.#size > 0 && written < max; ) written += this.#writeBundle(max);
    if (this.#size > 0) {
      setImmediate(this.#writeBundles);
      return;
    }
    this.#isScheduled = false;
    this.#keys.clear();
  };

  /** Writes up to `max` calls of the first script, whose other calls then come last. Returns how many were written. */
  #writeBundle(max: number): number {
    for (const [script, calls] of this.#callsByScript) {
      this.#callsByScript.delete(script);
      if (calls.length > max) this.#callsByScript.set(script, calls.slice(max));
      const bundle = calls.slice(0, max);
      this.#size -= bundle.length;
      this.#target.write(bundle);
      return bundle.length;
    }
    return 0;
  }
}
