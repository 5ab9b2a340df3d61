/**
 * Errors that nobody catches. Node tells an error that a listener throws to nobody but the process, on its next tick.
 * The test runner listens there too and would take it for its own, so it steps aside.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** What nobody caught while the work ran, and in the turn of the event loop after it. */
export async function uncaughtDuring(work: () => Promise<void>): Promise<unknown[]> {
  const runners = process.listeners('uncaughtException');
  const uncaught: unknown[] = [];
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => uncaught.push(error));
  try {
    await work();
    await nextTurn();
  } finally {
    process.removeAllListeners('uncaughtException');
    for (const runner of runners) process.on('uncaughtException', runner);
  }
  return uncaught;
}
