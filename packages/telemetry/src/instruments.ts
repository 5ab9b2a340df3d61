/** The figures: one table for OpenTelemetry and Prometheus. `docs/operate/telemetry.md` explains each. */

/** Labels of one series. Every value comes from a fixed list, except `group`, which is bounded by `groups.ts`. */
export type Labels = Readonly<Partial<Record<Label, string>>>;

export type Label =
  | 'kind'
  | 'group'
  | 'outcome'
  | 'via'
  | 'end'
  | 'scope'
  | 'reason'
  | 'event'
  | 'error_type';

export interface Instrument {
  /** Behind `holdfast.` in OpenTelemetry, behind `holdfast_` with underscores in Prometheus. */
  readonly name: string;
  readonly type: 'histogram' | 'counter' | 'updown';
  /** The unit as OpenTelemetry writes it. */
  readonly unit: string;
  /** What Prometheus wants at the end of the name. */
  readonly suffix: '' | '_seconds' | '_ratio' | '_total';
  readonly description: string;
  /** Besides `kind` and `group`, and never more than two of them for one value. */
  readonly labels: readonly Label[];
  readonly buckets?: readonly number[];
  /** Values of the first label that exist from the start, so that a rate sees the first one. */
  readonly known?: readonly string[];
}

const ACQUIRE_BUCKETS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];
const HOLD_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 15, 30, 60, 300, 900, 3600];
const JOB_BUCKETS = [0.1, 0.5, 1, 5, 15, 30, 60, 300, 900, 3600, 14_400];
const LATENESS_BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600];
const MARGIN_BUCKETS = [0, 0.1, 0.2, 0.33, 0.5, 0.66, 0.8, 1];

export const ACQUIRE_DURATION: Instrument = {
  name: 'acquire.duration',
  type: 'histogram',
  unit: 's',
  suffix: '_seconds',
  description: 'How long acquisitions took, whatever their outcome.',
  labels: ['outcome', 'via', 'error_type'],
  buckets: ACQUIRE_BUCKETS,
};

export const ACQUIRE_PENDING: Instrument = {
  name: 'acquire.pending',
  type: 'updown',
  unit: '{caller}',
  suffix: '',
  description: 'Callers that are acquiring now.',
  labels: [],
};

export const HOLD_DURATION: Instrument = {
  name: 'hold.duration',
  type: 'histogram',
  unit: 's',
  suffix: '_seconds',
  description: 'How long leases were held.',
  labels: ['end'],
  buckets: HOLD_BUCKETS,
};

export const LEASES: Instrument = {
  name: 'leases',
  type: 'updown',
  unit: '{lease}',
  suffix: '',
  description: 'Leases that are held now, re-entries included.',
  labels: [],
};

export const HANDOVERS: Instrument = {
  name: 'handovers',
  type: 'counter',
  unit: '{handover}',
  suffix: '_total',
  description: 'Holds that were received from another owner.',
  labels: ['scope'],
};

export const RENEWALS: Instrument = {
  name: 'renewals',
  type: 'counter',
  unit: '{renewal}',
  suffix: '_total',
  description: 'Renewals of holds.',
  labels: ['outcome'],
};

export const RENEWAL_MARGIN: Instrument = {
  name: 'renewal.margin',
  type: 'histogram',
  unit: '1',
  suffix: '_ratio',
  description: 'The share of the lease that was left when a renewal was confirmed.',
  labels: [],
  buckets: MARGIN_BUCKETS,
};

export const LEASES_LOST: Instrument = {
  name: 'leases.lost',
  type: 'counter',
  unit: '{lease}',
  suffix: '_total',
  description: 'Leases that ended without their owner releasing them.',
  labels: ['reason'],
  known: ['expired', 'gone', 'revoked', 'closed', 'abandoned'],
};

export const RELEASES_LATE: Instrument = {
  name: 'releases.late',
  type: 'counter',
  unit: '{release}',
  suffix: '_total',
  description: 'Releases that were repeated in the background until they ended.',
  labels: ['outcome'],
};

export const WAKEUPS: Instrument = {
  name: 'wakeups',
  type: 'counter',
  unit: '{wakeup}',
  suffix: '_total',
  description: 'Waiters that tried again.',
  labels: ['reason'],
};

export const ONCE_DURATION: Instrument = {
  name: 'once.duration',
  type: 'histogram',
  unit: 's',
  suffix: '_seconds',
  description: 'How long calls of once took: running the body, waiting for it, or reading its result.',
  labels: ['outcome', 'error_type'],
  buckets: ACQUIRE_BUCKETS,
};

export const LEADER_EVENTS: Instrument = {
  name: 'leader.events',
  type: 'counter',
  unit: '{event}',
  suffix: '_total',
  description: 'Terms that leaders began, lost and resigned, and bodies that did not end in time.',
  labels: ['event'],
};

export const JOB_DURATION: Instrument = {
  name: 'job.duration',
  type: 'histogram',
  unit: 's',
  suffix: '_seconds',
  description: 'How long runs of jobs took, until their end was recorded.',
  labels: ['outcome', 'error_type'],
  buckets: JOB_BUCKETS,
};

export const JOB_LATENESS: Instrument = {
  name: 'job.lateness',
  type: 'histogram',
  unit: 's',
  suffix: '_seconds',
  description: 'How long after their slots runs of jobs began.',
  labels: [],
  buckets: LATENESS_BUCKETS,
};

export const JOBS_SKIPPED: Instrument = {
  name: 'jobs.skipped',
  type: 'counter',
  unit: '{slot}',
  suffix: '_total',
  description: 'Slots of jobs that this process did not run.',
  labels: ['reason'],
};

/** The only one without `kind` and `group`. */
export const GROUPS_OVERFLOW: Instrument = {
  name: 'groups.overflow',
  type: 'counter',
  unit: '{acquisition}',
  suffix: '_total',
  description:
    'Acquisitions, calls of once and runs of jobs whose group was beyond the largest number of groups.',
  labels: [],
};

export const INSTRUMENTS: readonly Instrument[] = [
  ACQUIRE_DURATION,
  ACQUIRE_PENDING,
  HOLD_DURATION,
  LEASES,
  HANDOVERS,
  RENEWALS,
  RENEWAL_MARGIN,
  LEASES_LOST,
  RELEASES_LATE,
  WAKEUPS,
  ONCE_DURATION,
  LEADER_EVENTS,
  JOB_DURATION,
  JOB_LATENESS,
  JOBS_SKIPPED,
  GROUPS_OVERFLOW,
];

/** Adds a value to one series: an observation of a histogram, a step of a counter. */
export type Add = (value: number) => void;

/** What a figure of the type `updown` is now, for each series. Asked when figures are collected. */
export type Present = () => Iterable<readonly [labels: Labels, value: number]>;

/** Where figures go: OpenTelemetry or Prometheus. */
export interface Backend {
  /** Reads what is present whenever figures are collected, which costs those who acquire nothing. */
  watch(instrument: Instrument, present: Present): void;
  /** The series of an instrument with these labels. Asked once for each series. */
  series(instrument: Instrument, labels: Labels): Add;
}
