/** A time limit for work that can be aborted, on an injected clock. */
import type { Clock } from 'holdfast';

class TimeLimitError extends Error {}

/** The work gets a signal that aborts at the limit; the result is then a rejection, whatever the work does. */
export async function within<T>(
  clock: Clock,
  limitMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const late = new TimeLimitError(`no answer within ${limitMs} ms`);
  let stop = (): void => {};
  const limit = new Promise<never>((_resolve, reject) => {
    const timer = clock.startTimer(limitMs, () => {
      reject(late);
      controller.abort(late);
    });
    stop = () => timer.cancel();
  });
  const running = work(controller.signal);
  running.catch(() => {});
  try {
    return await Promise.race([running, limit]);
  } finally {
    stop();
  }
}
