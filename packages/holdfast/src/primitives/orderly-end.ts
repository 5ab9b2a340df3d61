/**
 * The end of work that runs under a lock, when its `Locks` closes or somebody stops it. The work gets its grace, is then told
 * to end, and is waited for. Its lease is renewed meanwhile: nobody else may begin while it is at work.
 */
import type { TimerQueue } from '../runtime/timer-queue.ts';
import { within } from '../runtime/timers.ts';

/** How long work may take to end after it was told: as long as a leader has by default. */
const STOP_MS = 10_000;

export interface EndingWork {
  /** Settles when the work has ended. Never rejects. */
  readonly ended: Promise<unknown>;
  /** Tells it to end. */
  tell(): void;
  /** The body does not end: from now on its lease is not renewed, and only the end of the lease lets others begin. */
  leaveToLease(): void;
}

export async function endInOrder(
  timers: TimerQueue,
  graceMs: number,
  { ended, tell, leaveToLease }: EndingWork,
): Promise<void> {
  if (graceMs > 0) await within(timers, ended, graceMs, () => null);
  tell();
  await within(timers, ended, STOP_MS, leaveToLease);
}
