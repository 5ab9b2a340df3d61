/** Waits for something to become true, with a limit: what a test does instead of sleeping. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isViolation } from './violation.ts';

/**
 * What is awaited comes at once; this is for a machine that is busy with something else. Well below a default lease:
 * what only its end would bring about has not come.
 */
const LIMIT_MS = 20_000;
const POLL_MS_MIN = 5;
/** What takes seconds is not asked for every few milliseconds: each question may be a dozen connections. */
const POLL_MS_MAX = 25;
/** Between two looks of `during`. */
const LOOK_EVERY_MS = 20;
/** Of the time that has passed, so that nothing is noticed late for what it took. */
const POLL_SHARE = 0.1;

export interface WaitOptions {
  /** @default 20_000 */
  readonly limitMs?: number;
  /** What is awaited, for the message: "the second owner to hold the lock". */
  readonly what?: string;
}

type Truthy<T> = Exclude<T, false | null | undefined | 0 | ''>;

/**
 * Asks again and again, at first every few milliseconds, and resolves with the first truthy answer. A condition that throws is asked again,
 * so an assertion can be one; what it threw last is the cause of the rejection. A violation is not waited out.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  options: WaitOptions = {},
): Promise<Truthy<T>> {
  const { limitMs = LIMIT_MS, what = condition.toString() } = options;
  const beganMs = performance.now();
  const deadline = beganMs + limitMs;
  let last: unknown;
  let cause: unknown;
  for (;;) {
    // Read before it is asked: who slept past the limit, with the whole machine, asks once more.
    const isLast = performance.now() >= deadline;
    try {
      const answer = await condition();
      // Not narrowed by the compiler, which cannot tell a truthy T from any T.
      if (answer) return answer as Truthy<T>;
      last = answer;
      cause = undefined;
    } catch (error) {
      if (isViolation(error)) throw error;
      cause = error;
    }
    if (isLast) break;
    const waitedMs = performance.now() - beganMs;
    await sleep(Math.min(POLL_MS_MAX, Math.max(POLL_MS_MIN, waitedMs * POLL_SHARE)));
  }
  const ending = cause === undefined ? `it was still ${String(last)}` : `it threw ${String(cause)}`;
  throw new Error(`waited ${limitMs} ms for ${what}, and ${ending}`, { cause });
}

/** Lets real time pass, where that is the fault itself or what is watched. By the clock, not by one timer. */
export async function elapse(durationMs: number): Promise<void> {
  const endMs = performance.now() + durationMs;
  while (performance.now() < endMs)
    await sleep(Math.max(1, Math.min(POLL_MS_MAX, endMs - performance.now())));
}

/** Looks again and again for that long, once at least; every look must pass. */
export async function during(periodMs: number, look: () => unknown): Promise<void> {
  const endMs = performance.now() + periodMs;
  do {
    await look();
    await sleep(LOOK_EVERY_MS);
  } while (performance.now() < endMs);
}
