/** Running the body of `using` through what subscribers have put around it. */
import type { UsingTrace } from './channels.ts';

/**
 * The body runs once, whatever the subscriber does: also if its function throws, returns without running the body, or runs
 * it twice. What the subscriber throws becomes an uncaught exception of the process, as with any subscriber.
 */
export function enclosed<Result>(
  trace: UsingTrace | null,
  body: () => Result | PromiseLike<Result>,
): Result | PromiseLike<Result> {
  const enclose = trace?.enclose;
  if (enclose === undefined) return body();
  let running: Promise<Result> | null = null;
  const run = (): Promise<Result> => {
    running ??= (async () => body())();
    return running;
  };
  try {
    enclose(run);
  } catch (error) {
    process.nextTick(() => {
      throw error;
    });
  }
  return run();
}
