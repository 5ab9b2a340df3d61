/**
 * `holdfast run`: a command that runs on one machine at a time.
 *
 * In this folder: one file for each command, which does what the command says. Each is loaded only when it is called.
 * Only `program.ts` and `grammar/` import from here.
 */
import { basename } from 'node:path';
import { Failure } from '../failure.ts';
import { acquire, type WaitFlags } from '../run/acquire.ts';
import { checkExecutable } from '../run/executable.ts';
import { runUnder } from '../run/run-under.ts';
import { SignalForwarder } from '../run/signal-forwarder.ts';
import { resolveTerms } from '../run/terms.ts';
import type { ServerFlags } from '../servers/address.ts';
import { openServers } from '../servers/connection.ts';
import { checkName, closeInTime, openLocks } from '../servers/locks.ts';
import type { OncePerFlags } from './job.ts';

export interface RunFlags extends ServerFlags, WaitFlags, Partial<Pick<OncePerFlags, OncePerName>> {
  readonly grace?: number;
  readonly prefix?: string;
}

type OncePerName = 'oncePer' | 'timeZone' | 'attempts' | 'early' | 'late';

export async function run(name: string, command: readonly string[], flags: RunFlags): Promise<number> {
  refuseWindows();
  const { oncePer, ...rest } = flags;
  if (oncePer !== undefined) {
    const { runOncePer } = await import('./job.ts');
    return runOncePer(name, command, { ...rest, oncePer });
  }
  refuseJobFlags(flags);
  if (command.length === 0) throw new Failure('usage', 'expected a command after --, got none');
  checkName(name, flags);
  checkExecutable(command[0] ?? '');
  const terms = resolveTerms(flags);
  using signals = new SignalForwarder();
  try {
    const servers = await untilAborted(openServers(flags), signals.aborted);
    const application = `holdfast run ${basename(command[0] ?? '')}`;
    const { prefix = '' } = flags;
    // The command is stopped a grace before the lease ends, so it needs the whole lease from its beginning: no claim.
    const locks = openLocks(servers, { application, prefix, leaseMs: terms.leaseMs, claimMs: 0 });
    try {
      const lease = await acquire(name, flags, locks, servers, signals.aborted);
      return await runUnder(lease, locks.session, command, terms, signals);
    } finally {
      await closeInTime(locks);
      servers.close();
    }
  } catch (error) {
    if (signals.exitCode !== null) return signals.exitCode;
    throw error;
  }
}

function refuseWindows(): void {
  if (process.platform === 'win32') {
    throw new Failure('usage', 'run: needs process groups, which this system does not have');
  }
}

/** Refuses the flags that are about the slots of a job: a plain run has none. */
function refuseJobFlags({ timeZone, attempts, early, late }: RunFlags): void {
  const given = Object.entries({
    '--time-zone': timeZone,
    '--attempts': attempts,
    '--early': early,
    '--late': late,
  });
  const [wrong] = given.find(([, value]) => value !== undefined) ?? [];
  if (wrong !== undefined) throw new Failure('usage', `${wrong}: expected with --once-per only`);
}

/** Rejects on abort. The work goes on, and ends by its own limit. */
function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
    work.then(resolve, reject);
  });
}
