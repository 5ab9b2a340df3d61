/** Tells a waiter that a message woke from one that came back by itself, without a bound on time that a stall breaks. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect } from 'vitest';
import { CHANNELS, type WokenMessage } from '../../../src/index.ts';

/** Who is not woken sleeps for so long at least. */
const SLEEP_MS_MIN = 3_750;

/** Releases, and gives what the waiter then gets. It must come by a message, or sooner than it could have come without. */
export async function wokenBy<Result>(
  name: string,
  release: () => Promise<unknown>,
  waiting: Promise<Result>,
): Promise<Result> {
  const reasons: string[] = [];
  const hear = (message: unknown): void => {
    // What the channel carries is agreed with its publisher.
    const { lock, reason } = message as WokenMessage;
    if (lock === name) reasons.push(reason);
  };
  subscribe(CHANNELS.woken, hear);
  try {
    const releasedMs = performance.now();
    await release();
    const result = await waiting;
    const tookMs = performance.now() - releasedMs;
    if (!reasons.includes('message')) expect(tookMs, `woken by ${reasons}`).toBeLessThan(SLEEP_MS_MIN);
    return result;
  } finally {
    unsubscribe(CHANNELS.woken, hear);
  }
}
