/** What callers may choose for one run of a job. Options are checked here once; the code behind trusts the types. */
import { LockConfigError } from '../errors.ts';
import { describe } from '../runtime/describe.ts';
import { checkKnown, checkObject, integerWithin } from './checks.ts';
import { LEASE_MS_MAX, type ResolvedLocksOptions } from './options.ts';
import {
  JOB_RUN_OPTIONS,
  type JobRunOptions,
  type ResolvedSchedule,
  type ResolvedSlots,
  resolveRun,
  resolveSchedule,
  SLOT_OPTIONS,
  type SlotOptions,
} from './schedule-options.ts';

export interface SingleRunOptions extends SlotOptions, JobRunOptions {
  /**
   * With `cron` or `everyMs`: if the next slot is this near, it is waited for, because the clock of this machine may be
   * ahead of the server's. @default a tenth of the time from slot to slot, at most a minute
   */
  readonly earlyMs?: number;
  /**
   * How long to wait while an earlier run is at work.
   * @default with `cron` or `everyMs` until the next slot; otherwise 0
   */
  readonly waitMs?: number;
  /** Ends the wait, and is passed on to the run. */
  readonly signal?: AbortSignal;
}

export interface ResolvedSingleRun extends Omit<ResolvedSchedule, 'slots' | 'missed'> {
  /** Null: now, outside of any schedule. */
  readonly slots: ResolvedSlots | null;
  /** Null: by the distance of the slots. */
  readonly earlyMs: number | null;
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
}

const OWN = ['earlyMs', 'waitMs', 'signal'];
const WITH_SLOTS = new Set([...OWN, ...SLOT_OPTIONS, ...JOB_RUN_OPTIONS]);
/** A run outside of a schedule is a slot of its own, and has one attempt. */
const WITHOUT_SLOTS = new Set([...OWN, 'atMostMs', 'leaseMs']);

export function resolveSingleRun(
  options: SingleRunOptions,
  defaults: Pick<ResolvedLocksOptions, 'leaseMs'>,
): ResolvedSingleRun {
  checkObject(options, 'the options of runJob');
  const hasSlots = options.cron !== undefined || options.everyMs !== undefined;
  const own = resolveOwn(options, hasSlots);
  if (!hasSlots) {
    checkKnown(options, WITHOUT_SLOTS, 'an option of runJob without cron and everyMs');
    return { slots: null, ...resolveRun(options, defaults), ...own };
  }
  checkKnown(options, WITH_SLOTS, 'an option of runJob');
  const { earlyMs: _early, waitMs: _wait, signal: _signal, ...schedule } = options;
  const { missed: _missed, ...resolved } = resolveSchedule(schedule, defaults);
  return { ...resolved, ...own };
}

function resolveOwn(
  { earlyMs, waitMs, signal }: SingleRunOptions,
  hasSlots: boolean,
): Pick<ResolvedSingleRun, 'earlyMs' | 'waitMs' | 'signal'> {
  const wait: unknown = waitMs ?? (hasSlots ? Number.POSITIVE_INFINITY : 0);
  if (typeof wait !== 'number' || Number.isNaN(wait) || wait < 0) {
    throw new LockConfigError(`expected waitMs to be a number of at least 0, got ${describe(wait)}`);
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new LockConfigError(`expected signal to be an AbortSignal, got ${describe(signal)}`);
  }
  return {
    earlyMs: earlyMs === undefined ? null : integerWithin(earlyMs, 'earlyMs', 0, LEASE_MS_MAX),
    waitMs: wait,
    signal,
  };
}
