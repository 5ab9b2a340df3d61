/** Turns a library's `using(body)`, which renews while its body runs, into a lease one can hold and let go. */
import type { Kept } from '../contestant.ts';

interface Signal {
  readonly aborted: boolean;
}

export function keepInside(using: (body: (signal: Signal) => Promise<void>) => Promise<void>): Promise<Kept> {
  return new Promise((granted, refused) => {
    let leave = (): void => {};
    let isFailed = false;
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    const whole = using(async (signal) => {
      granted({
        isLost: () => isFailed || signal.aborted,
        release: () => {
          leave();
          return whole;
        },
      });
      await left;
    });
    whole.catch((error: unknown) => {
      isFailed = true;
      refused(error);
    });
  });
}
