/** What a process of a test does before the task that it was started for. */
import { setTimeout as sleep } from 'node:timers/promises';
import { LockError, type Locks } from '../../../src/index.ts';

const LIMIT_MS = 60_000;
const RETRY_MS = 5;

/**
 * From here on the session has reached its server. On a busy machine the first connection can take longer than the time
 * limits that the task is about, and a server that was never reached is not waited for.
 */
export async function reach(locks: Locks): Promise<void> {
  const untilMs = performance.now() + LIMIT_MS;
  for (;;) {
    try {
      await locks.inspect('nobody');
      return;
    } catch (error) {
      if (!(error instanceof LockError) || performance.now() >= untilMs) throw error;
      await sleep(RETRY_MS);
    }
  }
}
