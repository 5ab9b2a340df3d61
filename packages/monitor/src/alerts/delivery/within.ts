/** A time limit for work that can be aborted, on an injected clock. */
import type { Clock } from 'holdfast';
import { inTime } from '../../time-limit.ts';

class TimeLimitError extends Error {}

/** The work gets a signal that aborts at the limit; the result is then a rejection, whatever the work does. */
export async function within<T>(
  clock: Clock,
  limitMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const late = (): Error => {
    const error = new TimeLimitError(`no answer within ${limitMs} ms`);
    // After the rejection: the result is that the time is up, not what the work says of being aborted.
    queueMicrotask(() => controller.abort(error));
    return error;
  };
  return await inTime(work(controller.signal), { limitMs, late, timers: clock });
}
