/** What callers may choose for a job. Options are checked here once; the code behind trusts the types. */
import { LockConfigError } from '../errors.ts';
import { describe } from '../runtime/describe.ts';
import { checkKnown, checkObject, finiteFromZero, integerWithin, nonEmptyString, oneOf } from './checks.ts';
import { checkLeaseMs, LEASE_MS_MAX, type ResolvedLocksOptions } from './options.ts';

/** A tenth of a second: a start costs a round trip, and replicas agree on a slot to a few milliseconds. */
const EVERY_MS_MIN = 100;

/** Nobody reads a longer pattern, and the marker of a job keeps it. */
const PATTERN_BYTES_MAX = 256;

const ATTEMPTS_MAX = 1_000;

/** When a job runs: a pattern, or a grid of the server's time. One of `cron` and `everyMs`. */
export interface SlotOptions {
  /** A cron pattern of five or six fields, the first of six being seconds. Needs the package `croner`. */
  readonly cron?: string;
  /** The time zone of the pattern, such as `Europe/Berlin`. @default 'UTC' */
  readonly timeZone?: string;
  /** The period: a slot every `everyMs` milliseconds of the server's time, counted from 1970. At least 100. */
  readonly everyMs?: number;
  /** Moves the grid of `everyMs`. @default 0 */
  readonly offsetMs?: number;
}

/** How a run of a job is limited. */
export interface JobRunOptions {
  /** How often one slot may start: after an error, and after the death of the process. @default 1 */
  readonly attempts?: number;
  /** At least this long from the start of a run to the start of the next slot. @default 0 */
  readonly atLeastMs?: number;
  /** After this time the signal of the run aborts with `JobTimeoutError`. @default no limit */
  readonly atMostMs?: number;
  /** How long the lock of a run outlives a process that was killed. @default the `leaseMs` of `Locks` */
  readonly leaseMs?: number;
  /**
   * How long after its time a slot may still start.
   * @default a minute, or half the time to the next slot if that is shorter
   */
  readonly lateMs?: number;
}

export interface ScheduleOptions extends SlotOptions, JobRunOptions {
  /**
   * A slot that nobody started in time: `skip` leaves it out, `once` starts the newest of those that were missed as soon
   * as a replica is there. @default 'skip'
   */
  readonly missed?: 'skip' | 'once';
}

export type ResolvedSlots =
  | { readonly cron: string; readonly timeZone: string }
  | { readonly everyMs: number; readonly offsetMs: number };

export interface ResolvedSchedule {
  readonly slots: ResolvedSlots;
  readonly missed: 'skip' | 'once';
  /** Null: by the distance of the slots. */
  readonly lateMs: number | null;
  readonly attempts: number;
  readonly atLeastMs: number;
  /** Null: no limit. */
  readonly atMostMs: number | null;
  readonly leaseMs: number;
}

export const SLOT_OPTIONS: readonly string[] = ['cron', 'timeZone', 'everyMs', 'offsetMs'];
export const JOB_RUN_OPTIONS: readonly string[] = ['attempts', 'atLeastMs', 'atMostMs', 'leaseMs', 'lateMs'];
const SCHEDULE_OPTIONS = new Set([...SLOT_OPTIONS, ...JOB_RUN_OPTIONS, 'missed']);

export function resolveSchedule(
  options: ScheduleOptions,
  defaults: Pick<ResolvedLocksOptions, 'leaseMs'>,
): ResolvedSchedule {
  checkObject(options, 'the options of a schedule');
  checkKnown(options, SCHEDULE_OPTIONS, 'an option of a schedule');
  const { missed = 'skip' } = options;
  const slots = resolveSlots(options);
  const run = resolveRun(options, defaults);
  if ('everyMs' in slots) checkFits(run, slots.everyMs);
  return { slots, missed: oneOf(missed, 'missed', ['skip', 'once'] as const), ...run };
}

export function resolveRun(
  options: JobRunOptions,
  defaults: Pick<ResolvedLocksOptions, 'leaseMs'>,
): Omit<ResolvedSchedule, 'slots' | 'missed'> {
  const { attempts = 1, atLeastMs = 0, atMostMs, leaseMs, lateMs } = options;
  const run = {
    attempts: integerWithin(attempts, 'attempts', 1, ATTEMPTS_MAX),
    atLeastMs: integerWithin(atLeastMs, 'atLeastMs', 0, LEASE_MS_MAX),
    atMostMs: atMostMs === undefined ? null : integerWithin(atMostMs, 'atMostMs', 1, LEASE_MS_MAX),
    leaseMs: leaseMs === undefined ? defaults.leaseMs : checkLeaseMs(leaseMs),
    lateMs: lateMs === undefined ? null : integerWithin(lateMs, 'lateMs', 0, LEASE_MS_MAX),
  };
  if (run.atMostMs === null || run.atLeastMs <= run.atMostMs) return run;
  throw new LockConfigError(
    `expected atLeastMs to be at most atMostMs, ${run.atMostMs}, got ${describe(run.atLeastMs)}`,
  );
}

/** A job that must rest for longer than its slots are apart would silently leave out slots. */
export function checkFits(run: Pick<ResolvedSchedule, 'atLeastMs' | 'lateMs'>, intervalMs: number): void {
  if (run.atLeastMs >= intervalMs) {
    const expected = `atLeastMs to be less than the ${intervalMs} ms from a slot to the next`;
    throw new LockConfigError(`expected ${expected}, got ${describe(run.atLeastMs)}`);
  }
}

function resolveSlots(options: SlotOptions): ResolvedSlots {
  const { cron, timeZone, everyMs, offsetMs } = options;
  if ((cron === undefined) === (everyMs === undefined)) {
    const got = cron === undefined ? 'none of them' : 'both';
    throw new LockConfigError(`expected either cron or everyMs, got ${got}`);
  }
  if (everyMs !== undefined) {
    if (timeZone !== undefined) throw new LockConfigError('expected timeZone with cron only, got everyMs');
    const every = integerWithin(everyMs, 'everyMs', EVERY_MS_MIN, LEASE_MS_MAX);
    return { everyMs: every, offsetMs: integerWithin(offsetMs ?? 0, 'offsetMs', 0, every - 1) };
  }
  if (offsetMs !== undefined) throw new LockConfigError('expected offsetMs with everyMs only, got cron');
  const pattern = nonEmptyString(cron, 'cron');
  if (Buffer.byteLength(pattern) > PATTERN_BYTES_MAX) {
    throw new LockConfigError(
      `expected cron to have at most ${PATTERN_BYTES_MAX} bytes, got ${describe(pattern)}`,
    );
  }
  return { cron: pattern, timeZone: nonEmptyString(timeZone ?? 'UTC', 'timeZone') };
}

export interface StopOptions {
  /** How long a run may go on before its signal aborts. @default 0 */
  readonly graceMs?: number;
}

const STOP_OPTIONS = new Set(['graceMs']);

export function checkStopOptions(options: StopOptions): number {
  checkObject(options, 'the options of stop');
  checkKnown(options, STOP_OPTIONS, 'an option of stop');
  const { graceMs = 0 } = options;
  return finiteFromZero(graceMs, 'graceMs');
}
