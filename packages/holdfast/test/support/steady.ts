/**
 * For tests that need a machine which keeps time: a call that must be answered within a node's deadline, a wake-up that
 * must come soon. On a shared machine a process may stand still for longer than that, and what fails beside such a
 * stall has not been tested. It is tried again, and that is told. What is not about time is never tried again: a vote
 * that stays, a wrong value are as wrong beside a stall. Nor is a `Violation`, whatever it says and whatever else failed.
 */
import { beforeEach } from 'vitest';
import { StallWatch } from './processes/stall-watch.ts';
import { isViolation } from './violation.ts';

const RETRIES_MAX = 3;

/** What a lock rightly says when no answer came in time, and what an expectation says of a time that is too long. */
const ABOUT_TIME =
  /^(LockLostError|LockUnknownError|LockUnavailableError|LockTimeoutError)$|expected [\d.]+ to be less than [\d.]+$/;

interface Told {
  readonly name?: string;
  readonly message?: string;
}

interface Steady {
  readonly retry: { readonly count: number; readonly condition: (error: Told) => boolean };
}

/** Call it at the top of a file, and give what it returns to the `describe` or `test` that needs it. */
export function steady(): Steady {
  let watch: StallWatch | null = null;
  let failures = (): readonly unknown[] => [];
  beforeEach(({ task }) => {
    // The runner asks about the last one only: a clean-up that fails behind a violation would hide it.
    failures = () => task.result?.errors ?? [];
    // The runner takes functions out of the options of a test when it has collected it, and would then repeat any
    // failure. What is left is its own object, not ours.
    if (typeof task.retry === 'object') Object.assign(task.retry, { condition });
    const started = new StallWatch();
    watch = started;
    return () => started.end();
  });
  const condition = (error: Told): boolean => {
    if (isViolation(error) || failures().some(isViolation)) return false;
    const { name = '', message = '' } = error;
    const isAboutTime = ABOUT_TIME.test(name) || ABOUT_TIME.test(message);
    const longestMs = watch?.longestMs ?? 0;
    if (!isAboutTime || longestMs === 0) return false;
    console.info(`tried again after a stall of ${Math.round(longestMs)} ms: ${message}`);
    return true;
  };
  return { retry: { count: RETRIES_MAX, condition } };
}
