/**
 * Many callers that each read a number in Redis, and write it back one larger, under a lock or without one.
 *
 * The write and its entry in the log are one transaction. So however often processes are killed, the counter equals
 * the length of the log exactly when no two sections have overlapped: of two that do, one undoes the other's count
 * but not its entry.
 */
import { LockLostError, Locks } from '../../../src/index.ts';
import { COUNTER, type CounterTask, LOCK, LOG } from '../counter-task.ts';
import { CALL_TIMEOUT_MS } from '../limits.ts';
import { openStore } from './store.ts';
import { leave, nextWord, readTask, reportTrouble, say } from './talk.ts';

interface Proof {
  readonly isHeld: boolean;
  readonly fence?: number;
}

reportTrouble();
const task = readTask<CounterTask>();
const { handovers, leaseMs, quorum } = task;
const store = await openStore(task.client, task.port);
await store.connect();
const voters = await Promise.all((quorum ?? []).map((port) => openStore(task.client, port)));
const settings = {
  leaseMs,
  callTimeoutMs: CALL_TIMEOUT_MS,
  ...(handovers !== null && { handovers }),
  // Servers that fail at random are what the test is about, and nobody is to give up because of them.
  ...(quorum !== undefined && { outageMs: 60_000 }),
  ...(task.nodeTimeoutMs !== undefined && { nodeTimeoutMs: task.nodeTimeoutMs }),
};
const locks = new Locks(quorum === undefined ? store.client : voters.map(({ client }) => client), settings);

let left = task.increments ?? Number.POSITIVE_INFINITY;
let increments = 0;
let losses = 0;

async function section(lease: Proof): Promise<void> {
  const seen = await store.read(COUNTER);
  // Whoever has lost the lock does not write: that is the caller's part of the bargain.
  if (!lease.isHeld) return;
  await store.write(COUNTER, seen + 1, LOG, String(lease.fence ?? 0));
  increments += 1;
}

async function increment(): Promise<void> {
  if (task.guard === 'none') return section({ isHeld: true });
  const guard = task.guard === 'lock' ? locks.lock(LOCK) : locks.mutex(LOCK);
  try {
    await guard.using(section);
  } catch (error) {
    if (!(error instanceof LockLostError)) throw error;
    losses += 1;
  }
}

async function caller(): Promise<void> {
  while (left > 0) {
    left -= 1;
    await increment();
  }
}

say({ session: locks.session });
await nextWord();
if (task.increments === null) {
  void nextWord().then(() => {
    left = 0;
  });
}
await Promise.all(Array.from({ length: task.callers }, caller));
say({ increments, losses });
for (const { end } of [store, ...voters]) end();
leave();
