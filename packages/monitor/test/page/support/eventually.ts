import { type WaitOptions, waitFor } from '../../../../holdfast/test/support/wait-for.ts';

/** As long as a step of the browser may take: on a busy machine the browser is several processes that wait for their turn. */
const LIMIT_MS = 60_000;

/** Asks until the answer is truthy, or the assertion holds. */
export function eventually(condition: () => unknown, options: WaitOptions = {}): Promise<unknown> {
  return waitFor(condition, { limitMs: LIMIT_MS, ...options });
}
