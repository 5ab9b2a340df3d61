/** `holdfast run`: a command that runs on one machine at a time. */
import { constants } from 'node:os';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FencedLease, Locks } from 'holdfast';
import { formatDuration } from '../duration.ts';
import { EXIT } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { LockReader } from '../locks/lock-reader.ts';
import { describeHolder } from '../locks/lock-view.ts';
import { quote } from '../printable.ts';
import { ChildGroup } from '../run/child-group.ts';
import { checkExecutable } from '../run/executable.ts';
import { Guard } from '../run/guard.ts';
import { SignalPost } from '../run/signal-post.ts';
import { graceMsMax, Supervision } from '../run/supervision.ts';
import { WaitNotice } from '../run/wait-notice.ts';
import type { ServerFlags } from '../servers/address.ts';
import { openServers, type Servers } from '../servers/connection.ts';
import { CLOSE_MS_MAX, checkName, closeInTime, openLocks } from '../servers/locks.ts';

export interface RunFlags extends ServerFlags {
  /** Milliseconds; false: one try; absent: as long as it takes. */
  readonly wait?: number | boolean;
  readonly lease: number;
  readonly grace?: number;
  readonly onBusyExit: number;
  readonly prefix?: string;
  readonly quiet?: boolean;
}

/** Shorter ones leave no time to end a command in good order. */
const LEASE_MS_MIN = 1_000;
/** Enough for most programs to put their things in order; those that need more say so. */
const GRACE_MS_DEFAULT = 5_000;

interface Terms {
  readonly leaseMs: number;
  readonly graceMs: number;
}

export async function run(name: string, command: readonly string[], flags: RunFlags): Promise<number> {
  refuseWindows();
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
      const lease = await acquire(locks, servers, name, flags, post.aborted);
      return await runUnder(lease, locks.session, command, terms, post);
    } finally {
      await closeInTime(locks);
      servers.close();
    }
  } catch (error) {
    // Ended by a signal before there was a command: nothing was begun, nothing is left.
    if (post.ended !== null) return EXIT.signalled + constants.signals[post.ended];
    throw error;
  }
}

async function acquire(
  locks: Locks,
  servers: Servers,
  name: string,
  { wait, lease: leaseMs, onBusyExit, quiet }: RunFlags,
  signal: AbortSignal,
): Promise<FencedLease> {
  const reader = LockReader.over(servers, locks);
  const startedMs = performance.now();
  const over = new AbortController();
  if (quiet !== true) void new WaitNotice(reader, servers, name, leaseMs).follow(over.signal);
  try {
    const lock = locks.lock(name);
    if (wait === false) {
      const lease = await lock.tryAcquire({ signal });
      if (lease !== null) return lease;
    } else {
      return await lock.acquire(typeof wait === 'number' ? { waitMs: wait, signal } : { signal });
    }
  } catch (error) {
    if (!isBusy(error)) throw error;
  } finally {
    over.abort();
  }
  const waited = wait === false ? '' : `waited ${formatDuration(performance.now() - startedMs)}; `;
  throw new Failure(onBusyExit, `lock ${quote(name)}: ${waited}${await holderOf(reader, name)} holds it`);
}

/** As far as it can be told now. It may have been released meanwhile. */
async function holderOf(reader: LockReader, name: string): Promise<string> {
  try {
    const found = await reader.inspect(name);
    if (found !== null && found.kind !== 'other') return describeHolder(await reader.view(found));
  } catch {
    // Who it is was only nice to know.
  }
  return 'somebody else';
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
  return `lock ${quote(name)}: its lease of ${formatDuration(leaseMs)} could not be renewed in time`;
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

function refuseWindows(): void {
  if (process.platform === 'win32') {
    throw new Failure('usage', 'run: needs process groups, which this system does not have');
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ELOCKTIMEOUT';
}

/** What is abandoned ends by itself within its own limit. */
function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
    work.then(resolve, reject);
  });
}
