/** Loops with a pace, that can be stopped. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Waits; resolves early, and without an error, when the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await sleep(Math.max(0, ms), undefined, { signal }).catch(() => {});
}

/** Runs work again and again, at most once in `everyMs()`, until the signal aborts. Work must not reject. */
export async function repeat(
  everyMs: () => number,
  work: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const beganMs = performance.now();
    await work();
    // At least a tenth: work that takes longer than its pace must not fill all the time.
    const restMs = Math.max(everyMs() / 10, everyMs() - (performance.now() - beganMs));
    await pause(restMs, signal);
  }
}

/** How much slower than planned the paces are, because calls took long. */
export class Stretch {
  /** From 1 to 4. */
  factor = 1;

  /** `extraMs`: how long a call took beyond a usual round trip. */
  took(extraMs: number): void {
    if (extraMs > SLOW_CALL_MS) this.factor = Math.min(STRETCH_MAX, this.factor * 1.5);
    else this.factor = Math.max(1, this.factor * 0.9);
  }
}

/** A call of ours takes the server well under a millisecond; longer says that it has enough to do. */
const SLOW_CALL_MS = 5;
const STRETCH_MAX = 4;
