/** `holdfast job run`: a job now, once, under its lock. And the command of `holdfast run --once-per`. */
import type { SingleRunOptions } from 'holdfast';
import { formatDuration, parseDurationMs } from '../duration.ts';
import { Failure } from '../failure.ts';
import { quote } from '../printable.ts';
import { checkExecutable } from '../run/executable.ts';
import { runAsJob } from '../run/run-as-job.ts';
import { resolveTerms } from '../run/terms.ts';
import { isCluster, resolveAddresses, type ServerFlags } from '../servers/address.ts';
import { checkName } from '../servers/locks.ts';

export interface JobFlags extends ServerFlags {
  readonly prefix?: string;
  /** Milliseconds; false: not at all. */
  readonly wait?: number | boolean;
  readonly lease: number;
  readonly grace?: number;
  readonly onBusyExit: number;
}

export interface OncePerFlags extends JobFlags {
  /** A time, or a cron pattern. */
  readonly oncePer: string;
  readonly timeZone?: string;
  readonly attempts?: number;
  readonly early?: number;
  readonly late?: number;
}

/** The limits of the library, told in the words of the command line. */
const EVERY_MS_MIN = 100;
const EVERY_MS_MAX = 366 * 86_400_000;

/** Outside of the schedule: the last run in the marker is this one, and scheduled slots follow as before. */
export async function jobRun(name: string, command: readonly string[], flags: JobFlags): Promise<number> {
  const waitMs = typeof flags.wait === 'number' ? flags.wait : 0;
  return start(name, command, flags, { waitMs });
}

export async function runOncePer(
  name: string,
  command: readonly string[],
  flags: OncePerFlags,
): Promise<number> {
  const { timeZone, attempts, early, late, wait } = flags;
  const slots = slotsOf(flags.oncePer);
  if (timeZone !== undefined && slots.cron === undefined) {
    throw new Failure('usage', '--time-zone: expected a cron pattern with it, got a time');
  }
  return start(name, command, flags, {
    ...slots,
    ...(timeZone === undefined ? {} : { timeZone }),
    ...(attempts === undefined ? {} : { attempts }),
    ...(early === undefined ? {} : { earlyMs: early }),
    ...(late === undefined ? {} : { lateMs: late }),
    ...(typeof wait === 'number' ? { waitMs: wait } : {}),
    ...(wait === false ? { waitMs: 0 } : {}),
  });
}

function start(
  name: string,
  command: readonly string[],
  flags: JobFlags,
  options: SingleRunOptions,
): Promise<number> {
  if (process.platform === 'win32') {
    throw new Failure('usage', 'job: needs process groups, which this system does not have');
  }
  if (command.length === 0) throw new Failure('usage', 'expected a command after --, got none');
  checkName(name, flags);
  refuseQuorum(name, flags);
  checkExecutable(command[0] ?? '');
  const terms = resolveTerms(flags);
  return runAsJob({ name, command, flags, terms, options: { ...options, leaseMs: terms.leaseMs } });
}

/** The library refuses it too, but only when all servers have answered. */
function refuseQuorum(name: string, flags: JobFlags): void {
  const { length } = resolveAddresses(flags, process.env);
  if (length === 1 || isCluster(flags, process.env)) return;
  throw new Failure(
    'usage',
    `job ${quote(name)}: expected one server, a primary behind Sentinel or a cluster, got a quorum of ${length}: the marker of a job cannot be kept there`,
  );
}

/** `5m` is a grid of the server's time; everything with a blank in it, or a nickname such as @daily, is a pattern. */
function slotsOf(text: string): Pick<SingleRunOptions, 'cron' | 'everyMs'> {
  const everyMs = parseDurationMs(text);
  if (everyMs !== null) {
    if (everyMs >= EVERY_MS_MIN && everyMs <= EVERY_MS_MAX) return { everyMs };
    const expected = `from ${formatDuration(EVERY_MS_MIN)} to ${formatDuration(EVERY_MS_MAX)}`;
    throw new Failure('usage', `--once-per: expected a time ${expected}, got ${JSON.stringify(text)}`);
  }
  if (/\s/.test(text.trim()) || text.startsWith('@')) return { cron: text.trim() };
  throw new Failure(
    'usage',
    `--once-per: expected a time such as 5m or 1d, or a cron pattern such as '30 2 * * *', got ${JSON.stringify(text)}`,
  );
}
