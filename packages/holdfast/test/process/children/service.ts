/** A service as people write them: it works under a lock, others of it wait, and on SIGTERM it closes its locks. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type FencedLease, LockError, LockLostError, Locks } from '../../../src/index.ts';
import { CALL_TIMEOUT_MS } from '../limits.ts';
import { type ClientKind, openStore } from './store.ts';
import { leave, readTask, reportTrouble, say } from './talk.ts';

export interface ServiceTask {
  readonly port: number;
  readonly client: ClientKind;
  readonly name: string;
  readonly graceMs: number;
  /**
   * What its section does when the service is told to end: goes on for `FINISH_MS` and comes to its end, stops when
   * its signal says so, or neither.
   */
  readonly section: 'finishes' | 'heeds' | 'ignores';
  /** Other callers, who wait for the same lock. */
  readonly waiters: number;
  /** A lock that somebody else holds, to wait for. */
  readonly wanted: string | null;
}

export interface ServiceLine {
  readonly holding?: true;
  /** The code of the error of a caller that did not get in. */
  readonly turnedAway?: string;
  /** Whether it held the lock to the end of its section. */
  readonly finished?: boolean;
  /** Why its lease was lost, and when after the SIGTERM. */
  readonly told?: string;
  readonly toldAfterMs?: number;
  /** What became of `using`: `done`, or the code of its error. */
  readonly outcome?: string;
  readonly closedAfterMs?: number;
}

const FINISH_MS = 300;

reportTrouble();
const task = readTask<ServiceTask>();
const store = await openStore(task.client, task.port);
await store.connect();
const locks = new Locks(store.client, { leaseMs: 30_000, callTimeoutMs: CALL_TIMEOUT_MS });
let terminatedMs = Number.NaN;
const terminated = new Promise<void>((resolve) => {
  process.once('SIGTERM', () => {
    terminatedMs = performance.now();
    resolve();
    void shutDown();
  });
});
// A service listens to something; this stands for its server.
const server = setInterval(() => {}, 1_000);

async function shutDown(): Promise<void> {
  const closing = locks.close({ graceMs: task.graceMs });
  void turnedAway(task.name);
  await closing;
  say({ closedAfterMs: performance.now() - terminatedMs });
  clearInterval(server);
  store.end();
  leave();
}

async function section(lease: FencedLease): Promise<void> {
  lease.signal.addEventListener('abort', () => {
    const { reason } = lease.signal;
    const told = reason instanceof LockLostError ? reason.reason : String(reason);
    say({ told, toldAfterMs: performance.now() - terminatedMs });
  });
  say({ holding: true });
  await terminated;
  if (task.section === 'ignores') await new Promise(() => {});
  if (task.section === 'heeds') await sleep(60_000, undefined, { signal: lease.signal });
  await sleep(FINISH_MS);
  await store.write(`${task.name}:count`, 1, `${task.name}:log`, 'finished');
  say({ finished: lease.isHeld });
}

const codeOf = (error: unknown): string => (error instanceof LockError ? error.code : String(error));

async function turnedAway(name: string): Promise<void> {
  await locks
    .lock(name)
    .acquire()
    .then(
      () => say({ turnedAway: 'no: it got in' }),
      (error: unknown) => say({ turnedAway: codeOf(error) }),
    );
}

const working = locks.lock(task.name).using(section);
for (let i = 0; i < task.waiters; i += 1) void turnedAway(task.name);
if (task.wanted !== null) void turnedAway(task.wanted);
working.then(
  () => say({ outcome: 'done' }),
  (error: unknown) => say({ outcome: codeOf(error) }),
);
