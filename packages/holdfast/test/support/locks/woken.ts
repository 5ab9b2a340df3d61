/** Tells a waiter that a message woke from one that asked again by itself, without a bound on time that a stall breaks. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect } from 'vitest';
import { CHANNELS, type WokenMessage } from '../../../src/index.ts';
import { StallWatch } from '../processes/stall-watch.ts';

/**
 * A waiter asks again every second or so. An ask that is sent this soon after a release may overtake the message of that
 * release. Who was told nothing asks later than this every other time, and dozens of tests ask. A stall comes on top: a timer
 * that is due fires before a message that waits to be read.
 */
const CROSSING_MS = 500;

interface Wake {
  readonly reason: string;
  readonly atMs: number;
}

/** Releases, and gives what the waiter, a caller of this process, then gets. It must come by a message. */
export async function wokenBy<Result>(
  name: string,
  release: () => Promise<unknown>,
  waiting: Promise<Result>,
): Promise<Result> {
  const wakes: Wake[] = [];
  const hear = (message: unknown): void => {
    // What the channel carries is agreed with its publisher.
    const { lock, reason } = message as WokenMessage;
    if (lock === name) wakes.push({ reason, atMs: performance.now() });
  };
  subscribe(CHANNELS.woken, hear);
  const stalls = new StallWatch();
  try {
    await release();
    const releasedMs = performance.now();
    const result = await waiting;
    if (wakes.some(({ reason }) => reason === 'message')) return result;
    // None: the ask that brought the lock was under way when it was released.
    const last = wakes.at(-1);
    if (last !== undefined)
      expect(last.atMs - releasedMs, `woken by ${last.reason}`).toBeLessThan(
        CROSSING_MS + 2 * stalls.longestMs,
      );
    return result;
  } finally {
    stalls.end();
    unsubscribe(CHANNELS.woken, hear);
  }
}
