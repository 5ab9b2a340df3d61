/** A time limit for work that may never end. The work itself goes on: what it comes to later is ignored, a rejection included. */

/** A `Clock` of holdfast fits. */
interface Timers {
  startTimer(delayMs: number, fire: () => void): { cancel(): void };
}

const MACHINE_TIMERS: Timers = {
  startTimer: (delayMs, fire) => {
    const timeout = setTimeout(fire, delayMs);
    return { cancel: () => clearTimeout(timeout) };
  },
};

export interface TimeLimit {
  readonly limitMs: number;
  /** What the result is rejected with at the limit. */
  readonly late: () => Error;
  /** @default those of the machine */
  readonly timers?: Timers;
}

/** Settles as the work does, or is rejected at the limit. */
export async function inTime<T>(
  work: Promise<T>,
  { limitMs, late, timers = MACHINE_TIMERS }: TimeLimit,
): Promise<T> {
  let stop = (): void => {};
  const limit = new Promise<never>((_resolve, reject) => {
    const timer = timers.startTimer(limitMs, () => reject(late()));
    stop = () => timer.cancel();
  });
  work.catch(() => {});
  try {
    return await Promise.race([work, limit]);
  } finally {
    stop();
  }
}
