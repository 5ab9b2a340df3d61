/** `holdfast run`: a command that runs on one machine at a time. */
import { constants } from 'node:os';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FencedLease } from 'holdfast';
import { formatDuration } from '../duration.ts';
import { EXIT } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { quote } from '../printable.ts';
import { acquire, type WaitFlags } from '../run/acquire.ts';
import { ChildGroup } from '../run/child-group.ts';
import { checkExecutable } from '../run/executable.ts';
import { Guard } from '../run/guard.ts';
import { SignalForwarder } from '../run/signal-forwarder.ts';
import { graceMsMax, Supervisor } from '../run/supervisor.ts';
import type { ServerFlags } from '../servers/address.ts';
import { openServers } from '../servers/connection.ts';
import { CLOSE_MS_MAX, checkName, closeInTime, openLocks } from '../servers/locks.ts';

export interface RunFlags extends ServerFlags, WaitFlags {
  readonly grace?: number;
  readonly prefix?: string;
}

/** A shorter lease leaves no time for SIGTERM and SIGKILL. */
const LEASE_MS_MIN = 1_000;
/** Enough for most programs to clean up after SIGTERM. */
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
  using signals = new SignalForwarder();
  try {
    const servers = await untilAborted(openServers(flags), signals.aborted);
    const application = `holdfast run ${basename(command[0] ?? '')}`;
    const { prefix = '' } = flags;
    const locks = openLocks(servers, { application, prefix, leaseMs: terms.leaseMs });
    try {
      const lease = await acquire(name, flags, locks, servers, signals.aborted);
      return await runUnder(lease, locks.session, command, terms, signals);
    } finally {
      await closeInTime(locks);
      servers.close();
    }
  } catch (error) {
    // A signal came before the command was started: nothing is left behind.
    if (signals.ended !== null) return EXIT.signalled + constants.signals[signals.ended];
    throw error;
  }
}

async function runUnder(
  lease: FencedLease,
  session: string,
  command: readonly string[],
  terms: Terms,
  signals: SignalForwarder,
): Promise<number> {
  // A signal came while the lock was being granted: the command is not started.
  if (signals.ended !== null) throw new Error('ended by a signal');
  const guard = new Guard(terms.graceMs);
  const group = await ChildGroup.prepare(command, {
    HOLDFAST_LOCK: lease.name,
    HOLDFAST_FENCE: String(lease.fence),
    HOLDFAST_SESSION: session,
  });
  const supervisor = new Supervisor(lease, group, guard, terms);
  signals.forwardTo((signal) => supervisor.forward(signal));
  const { exitCode, wasLost } = await supervisor.finish();
  // A release that gets no answer does not mean that the lock was lost while the command ran.
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

/** Rejects on abort. The work goes on, and ends by its own limit. */
function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
    work.then(resolve, reject);
  });
}
