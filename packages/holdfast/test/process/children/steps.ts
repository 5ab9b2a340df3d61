/** Ways to use locks after which nothing is held, nobody waits, and nothing should keep the process. */
import { setTimeout as sleep } from 'node:timers/promises';
import { LockError, type LockErrorCode, type Locks, LockTimeoutError } from '../../../src/index.ts';
import { answered } from '../../support/locks/answered.ts';

/** `others` contend with `locks` as another process would. */
type Step = (locks: Locks, others: Locks) => Promise<unknown>;

const WAITERS = 1_000;
const LISTEN_LIMIT_MS = 20_000;
/** Renewed at a third of it. Long enough to survive a stall of a busy machine. */
const RENEWED_LEASE_MS = 4_800;

export type StepName = keyof typeof STEPS;

export const STEPS = {
  acquire: async (locks) => {
    const lease = await locks.lock('plain').acquire();
    check(await lease.release(), 'it is ours to release');
  },
  mutex: async (locks) => {
    const lease = await locks.mutex('mutex').acquire();
    check(await lease.release(), 'it is ours to release');
  },
  using: (locks) => locks.lock('used').using(() => locks.lock('used').using(() => undefined)),
  dispose: async (locks) => {
    await using lease = await locks.lock('disposed').acquire();
    check(lease.isHeld, 'it is held');
  },
  renew: async (locks) => {
    const lease = await locks.lock('renewed').acquire({ leaseMs: RENEWED_LEASE_MS });
    // Until more is left than a moment ago.
    for (let leftMs = Number.POSITIVE_INFINITY; lease.isHeld && lease.remainingMs <= leftMs; ) {
      leftMs = lease.remainingMs;
      await sleep(5);
    }
    check(await lease.release(), 'it is ours to release');
  },
  expire: async (locks) => {
    // Longer than an answer takes on a busy machine: one that comes later grants nothing.
    const lease = await locks.lock('expired').acquire({ leaseMs: 500, renew: false });
    // A timer of ours, because a lease alone does not keep a process.
    while (lease.isHeld) await sleep(5);
    check(!(await lease.release()), 'it is not ours any more');
  },
  wait: async (locks, others) => {
    const before = await others.lock('awaited').acquire();
    const waiting = locks.lock('awaited').acquire();
    await awaited(others, 'awaited');
    await before.release();
    const lease = await waiting;
    check(await lease.release(), 'it is ours to release');
  },
  tryHeld: async (locks, others) => {
    await using _held = await others.lock('tried').acquire();
    check((await locks.lock('tried').tryAcquire()) === null, 'somebody else holds it');
  },
  timeOut: async (locks, others) => {
    await using _held = await others.lock('timed').acquire();
    // Long enough for an answer: without one it would be an outage.
    const error = await answered(() => locks.lock('timed').acquire({ waitMs: 1_000 }));
    check(error instanceof LockTimeoutError, `it is a timeout, got ${error}`);
  },
  abortInFlight: async (locks) => {
    const { signal, abort } = aborter();
    const waiting = locks.lock('crossed').acquire({ signal });
    abort();
    await refused(['ELOCKABORTED'], waiting);
  },
  abortThousand: async (locks, others) => {
    await using _held = await others.lock('aborted').acquire();
    const { signal, abort } = aborter();
    const waiting = times(WAITERS, () =>
      refused(['ELOCKABORTED'], locks.lock('aborted').acquire({ signal })),
    );
    await awaited(others, 'aborted');
    abort();
    await Promise.all(waiting);
  },
  serveThousand: async (locks, others) => {
    const held = await others.lock('served').acquire();
    const { signal } = aborter();
    const served = times(WAITERS, () =>
      locks.lock('served').using(() => undefined, { signal, waitMs: 60_000 }),
    );
    await held.release();
    await Promise.all(served);
  },
  admin: async (locks, others) => {
    const lease = await others.lock('seen').acquire();
    check((await locks.inspect('seen'))?.kind === 'lock', 'it is seen');
    const names: string[] = [];
    for await (const { name } of locks.list()) names.push(name);
    check(names.includes('seen'), 'it is listed');
    await locks.check();
    check((await locks.forceRelease('seen')) !== null, 'it is taken away');
    check(!(await lease.release()), 'it is not theirs any more');
  },
  /** Nobody answers. Some clients need no answer to connect, and then the request has been sent. */
  fail: (locks) =>
    refused(['ELOCKUNAVAILABLE', 'ELOCKUNKNOWN'], locks.lock('unreachable').acquire({ waitMs: 500 })),
  close: async (locks, others) => {
    await locks.close();
    await others.close();
  },
  /** Waits for a lock that the test holds. */
  waitForTest: async (locks) => {
    const lease = await locks.lock('of the test').acquire();
    check(await lease.release(), 'it is ours to release');
  },
} satisfies Record<string, Step>;

function check(isTrue: boolean, what: string): void {
  if (!isTrue) throw new Error(`expected that ${what}`);
}

function times<Result>(count: number, make: () => Result): Result[] {
  return Array.from({ length: count }, make);
}

function aborter(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

async function refused(codes: readonly LockErrorCode[], acquiring: Promise<unknown>): Promise<void> {
  const error = await acquiring.then(
    () => 'a lease',
    (reason: unknown) => reason,
  );
  if (error instanceof LockError && codes.includes(error.code)) return;
  throw new Error(`expected ${codes.join(' or ')}, got ${error}`);
}

/** Until somebody listens for its release. */
async function awaited(locks: Locks, name: string): Promise<void> {
  const deadlineMs = performance.now() + LISTEN_LIMIT_MS;
  while (performance.now() < deadlineMs) {
    const found = await locks.inspect(name);
    if (found?.kind === 'lock' && found.waiters > 0) return;
    await sleep(5);
  }
  throw new Error(`nobody listens for ${name}`);
}
