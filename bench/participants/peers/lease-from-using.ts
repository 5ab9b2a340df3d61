/** Turns a library's `using(body)`, which renews while its body runs, into a lease that can be held and released. */
import type { RenewedLease } from '../participant.ts';

export interface LossSignal {
  readonly aborted: boolean;
}

export function leaseFromUsing(
  using: (body: (signal: LossSignal) => Promise<void>) => Promise<void>,
): Promise<RenewedLease> {
  return new Promise((granted, refused) => {
    let endBody = (): void => {};
    let hasFailed = false;
    const bodyEnded = new Promise<void>((resolve) => {
      endBody = resolve;
    });
    const usingEnded = using(async (signal) => {
      granted({
        isLost: () => hasFailed || signal.aborted,
        release: () => {
          endBody();
          return usingEnded;
        },
      });
      await bodyEnded;
    });
    usingEnded.catch((error: unknown) => {
      hasFailed = true;
      refused(error);
    });
  });
}
