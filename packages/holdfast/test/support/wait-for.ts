/** Waits for something to become true, with a limit: what a test does instead of sleeping. */
import { setTimeout as sleep } from 'node:timers/promises';

const LIMIT_MS = 5_000;
const POLL_MS = 5;

export interface WaitOptions {
  /** @default 5000 */
  readonly limitMs?: number;
  /** What is awaited, for the message: "the second owner to hold the lock". */
  readonly what?: string;
}

type Truthy<T> = Exclude<T, false | null | undefined | 0 | ''>;

/**
 * Asks every few milliseconds and resolves with the first truthy answer. A condition that throws is asked again,
 * so an assertion can be one; what it threw last is the cause of the rejection.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  options: WaitOptions = {},
): Promise<Truthy<T>> {
  const { limitMs = LIMIT_MS, what = condition.toString() } = options;
  const deadline = performance.now() + limitMs;
  let last: unknown;
  let cause: unknown;
  do {
    try {
      const answer = await condition();
      // Not narrowed by the compiler, which cannot tell a truthy T from any T.
      if (answer) return answer as Truthy<T>;
      last = answer;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    await sleep(POLL_MS);
  } while (performance.now() < deadline);
  const ending = cause === undefined ? `it was still ${String(last)}` : `it threw ${String(cause)}`;
  throw new Error(`waited ${limitMs} ms for ${what}, and ${ending}`, { cause });
}
