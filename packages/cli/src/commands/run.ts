/** `holdfast run`: a command that runs on one machine at a time. */
import { constants } from 'node:os';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FencedLease, Locks } from 'holdfast';
import { formatDuration } from '../duration.ts';
import { EXIT } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { ChildGroup } from '../run/child-group.ts';
import { checkExecutable } from '../run/executable.ts';
import { Guard } from '../run/guard.ts';
import { SignalPost } from '../run/signal-post.ts';
import { graceMsMax, Supervision } from '../run/supervision.ts';
import type { ServerFlags } from '../servers/address.ts';
import { openServers } from '../servers/connection.ts';
import { checkName, openLocks } from '../servers/locks.ts';

export interface RunFlags extends ServerFlags {
  /** Milliseconds; false: one try; absent: as long as it takes. */
  readonly wait?: number | boolean;
  readonly lease: number;
  readonly grace?: number;
  readonly onBusyExit: number;
  readonly prefix?: string;
  readonly shared?: boolean;
  readonly slots?: string;
}

/** Shorter ones leave no time to end a command in good order. */
const LEASE_MS_MIN = 1_000;
/** Enough for most programs to put their things in order; those that need more say so. */
const GRACE_MS_DEFAULT = 5_000;
/** Many round trips to a server that answers. */
const CLOSE_MS_MAX = 1_000;

interface Terms {
  readonly leaseMs: number;
  readonly graceMs: number;
}

export async function run(name: string, command: readonly string[], flags: RunFlags): Promise<number> {
  refuseMissing(flags);
  if (command.length === 0) throw new Failure('usage', 'expected a command after --, got none');
  checkName(name, flags);
  checkExecutable(command[0] ?? '');
  const terms = resolveTerms(flags);
  using post = new SignalPost();
  try {
    const servers = await untilAborted(openServers(flags), post.aborted);
    const application = `holdfast run ${basename(command[0] ?? '')}`;
    const { prefix = '' } = flags;
    const locks = openLocks(servers, { application, prefix, leaseMs: terms.leaseMs });
    try {
      const lease = await acquire(locks, name, flags, post.aborted);
      return await runUnder(lease, locks.session, command, terms, post);
    } finally {
      await closeInTime(locks);
      servers.close();
    }
  } catch (error) {
    // Ended by a signal before there was a command: nothing was begun, nothing is left.
    if (post.ended !== null) return EXIT.signalled + constants.signals[post.ended];
    if (isBusy(error)) throw new Failure(flags.onBusyExit, error.message, error);
    throw error;
  }
}

async function acquire(
  locks: Locks,
  name: string,
  { wait }: RunFlags,
  signal: AbortSignal,
): Promise<FencedLease> {
  if (wait !== false) {
    return locks.lock(name).acquire(typeof wait === 'number' ? { waitMs: wait, signal } : { signal });
  }
  const lease = await locks.lock(name).tryAcquire({ signal });
  if (lease !== null) return lease;
  const found = await locks.inspect(name).catch(() => null);
  const owner = found === null || found.kind === 'other' ? 'somebody else' : found.owner;
  throw Object.assign(new Error(`lock ${JSON.stringify(name)}: ${owner} holds it`), { code: 'ELOCKTIMEOUT' });
}

async function runUnder(
  lease: FencedLease,
  session: string,
  command: readonly string[],
  terms: Terms,
  post: SignalPost,
): Promise<number> {
  // A signal that came while the lock was granted: the command is not begun.
  if (post.ended !== null) throw new Error('ended by a signal');
  const guard = new Guard(terms.graceMs);
  const group = await ChildGroup.prepare(command, {
    HOLDFAST_LOCK: lease.name,
    HOLDFAST_FENCE: String(lease.fence),
    HOLDFAST_SESSION: session,
  });
  const supervision = new Supervision(lease, group, guard, terms);
  post.forwardTo((signal) => supervision.forward(signal));
  const { exitCode, wasLost } = await supervision.finish();
  // An answer that does not come says nothing about the time before it.
  const released = lease.release().catch(() => true);
  const wasOurs = !wasLost && (await Promise.race([released, sleep(CLOSE_MS_MAX, true, { ref: false })]));
  if (wasOurs) return exitCode;
  const why =
    lease.signal.reason instanceof Error ? lease.signal.reason.message : unrenewed(lease.name, terms);
  throw new Failure('lost', `${why}; the command has ended with ${exitCode}`);
}

function unrenewed(name: string, { leaseMs }: Terms): string {
  return `lock ${JSON.stringify(name)}: its lease of ${formatDuration(leaseMs)} could not be renewed in time`;
}

function resolveTerms({ lease: leaseMs, grace }: RunFlags): Terms {
  if (leaseMs < LEASE_MS_MIN) {
    throw new Failure(
      'usage',
      `--lease: expected at least ${formatDuration(LEASE_MS_MIN)}, got ${formatDuration(leaseMs)}`,
    );
  }
  const mostMs = graceMsMax(leaseMs);
  const graceMs = grace ?? Math.min(GRACE_MS_DEFAULT, mostMs);
  if (graceMs <= mostMs) return { leaseMs, graceMs };
  const most = `${formatDuration(mostMs)} with a lease of ${formatDuration(leaseMs)}`;
  throw new Failure(
    'usage',
    `--grace: expected at most ${most}, so that a lost command is gone in time; got ${formatDuration(graceMs)}`,
  );
}

function refuseMissing({ shared, slots }: RunFlags): void {
  if (process.platform === 'win32') {
    throw new Failure('usage', 'run: needs process groups, which this system does not have');
  }
  if (shared === true) {
    throw new Failure(
      'usage',
      '--shared: comes with the read-write lock, which this version does not have yet',
    );
  }
  if (slots !== undefined) {
    throw new Failure('usage', '--slots: comes with the semaphore, which this version does not have yet');
  }
}

function isBusy(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && error.code === 'ELOCKTIMEOUT';
}

/** A server that does not answer must not hold us: what is not released then runs out by itself. */
async function closeInTime(locks: Locks): Promise<void> {
  const limit = new AbortController();
  const over = sleep(CLOSE_MS_MAX, undefined, { signal: limit.signal }).catch(() => {});
  await Promise.race([locks.close(), over]);
  limit.abort();
  await locks.destroy();
}

/** What is abandoned ends by itself within its own limit. */
function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
    work.then(resolve, reject);
  });
}
