/**
 * Many callers that each read a number in Redis, and write it back one larger, under a lock or without one.
 *
 * The write and its entry in the log are one transaction. So however often processes are killed, the counter equals
 * the length of the log exactly when no two sections have overlapped: of two that do, one undoes the other's count
 * but not its entry.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { LockLostError, Locks, LockUnavailableError } from '../../../src/index.ts';
import { COUNTER, type CounterTask, FENCE, LOCK_NAME, LOG } from '../counter/task.ts';
import { CALL_TIMEOUT_MS, FAILOVER_CALL_TIMEOUT_MS } from '../limits.ts';
import { openSentinels } from './sentinels.ts';
import { openStore } from './store.ts';
import { leave, nextWord, readTask, reportTrouble, say } from './talk.ts';

const WARM_UP_PAUSE_MS = 500;
const WARM_UP_CALL_MS = 30_000;
const HANDOVER_MS = 60_000;

interface Proof {
  readonly isHeld: boolean;
  readonly fence?: number;
}

reportTrouble();
const task = readTask<CounterTask>();
const { handovers, leaseMs, quorum, sentinels, replicas } = task;
const store = await openStore(task.client, task.port);
await store.connect();
const voters = await Promise.all((quorum ?? []).map((port) => openStore(task.client, port)));
const found = sentinels === undefined ? null : await openSentinels(task.client, sentinels);
const settings = {
  leaseMs,
  callTimeoutMs: sentinels === undefined ? CALL_TIMEOUT_MS : FAILOVER_CALL_TIMEOUT_MS,
  // By number and not by time, of which a busy machine takes more.
  ...(handovers === null ? { handoverMs: HANDOVER_MS } : { handovers }),
  // Servers that fail at random are what the test is about, and nobody is to give up because of them.
  ...((quorum !== undefined || sentinels !== undefined) && { outageMs: 60_000 }),
  ...(task.nodeTimeoutMs !== undefined && { nodeTimeoutMs: task.nodeTimeoutMs }),
  ...(replicas !== undefined && { replicas: { min: replicas } }),
};
const client = found?.client ?? (quorum === undefined ? store.client : voters.map(({ client }) => client));
const locks = new Locks(client, settings);

let left = task.increments ?? Number.POSITIVE_INFINITY;
let increments = 0;
let losses = 0;
let refusals = 0;
let violations = 0;
let pauseMs = 0;
let lastMs = performance.now();

async function section(lease: Proof): Promise<void> {
  if (task.checksFence === true) return fencedSection(lease);
  const seen = await store.read(COUNTER);
  // Whoever has lost the lock does not write: that is the caller's part of the bargain.
  if (!lease.isHeld) return;
  await store.write(COUNTER, seen + 1, LOG, String(lease.fence ?? 0));
  increments += 1;
}

/** Whether the lease is still held is not asked: the counter itself knows who came later. */
async function fencedSection(lease: Proof): Promise<void> {
  const { fence = 0 } = lease;
  const seen = await store.fencedRead(COUNTER, FENCE, fence);
  if (seen !== null && (await store.fencedWrite(COUNTER, FENCE, LOG, seen + 1, fence))) {
    increments += 1;
    return;
  }
  refusals += 1;
  if (lease.isHeld) violations += 1;
}

function notePause(): void {
  const nowMs = performance.now();
  pauseMs = Math.max(pauseMs, nowMs - lastMs);
  lastMs = nowMs;
}

async function increment(): Promise<void> {
  if (task.guard === 'none') return section({ isHeld: true });
  const guard = task.guard === 'lock' ? locks.lock(LOCK_NAME) : locks.mutex(LOCK_NAME);
  try {
    await guard.using(section);
  } catch (error) {
    if (!(error instanceof LockLostError)) throw error;
    losses += 1;
  }
  notePause();
}

/** A server that was never reached is taken for a wrong address, and on a busy machine the first time takes long. */
async function warmUp(): Promise<void> {
  // What must be learnt once for a whole process may take longer than a call of a session that expects failovers.
  await using patient = new Locks(client, { ...settings, callTimeoutMs: WARM_UP_CALL_MS });
  for (;;) {
    const lease = await patient
      .lock('warm-up')
      .acquire()
      .catch((error: unknown) => {
        if (!(error instanceof LockUnavailableError)) throw error;
        return null;
      });
    if (lease !== null) return void (await lease.release());
    // What was given up is still being closed, and the next attempt would have to share a busy core with it.
    await sleep(WARM_UP_PAUSE_MS);
  }
}

async function caller(): Promise<void> {
  while (left > 0) {
    left -= 1;
    await increment();
  }
}

if (sentinels !== undefined) await warmUp();
say({ session: locks.session });
await nextWord();
lastMs = performance.now();
if (task.increments === null) {
  void nextWord().then(() => {
    left = 0;
  });
}
await Promise.all(Array.from({ length: task.callers }, caller));
say({ increments, losses, refusals, violations, pauseMs });
for (const { end } of [store, ...voters]) end();
found?.end();
leave();
