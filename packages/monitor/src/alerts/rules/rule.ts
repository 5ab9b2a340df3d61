/** What a rule is: a row of the table in `table.ts`, and what the rule sees in the figures. */

export type Level = 'warning' | 'critical';

export const LEVELS: readonly Level[] = ['warning', 'critical'];

/** What an alert of the rule is about; its name is the subject of the alert. */
export type About = 'lock' | 'server' | 'fleet' | 'monitor';

/**
 * How the value of a rule is measured. The thresholds of a `condition` are fixed: the value is 0 when all is well, and
 * otherwise the number that the row gives to the level.
 */
export type Measure = 'duration' | 'count' | 'share' | 'condition';

export interface Rule {
  readonly id: string;
  readonly about: About;
  readonly measure: Measure;
  /** `above`: worse than the threshold. `at-least`: the threshold itself is already too much. */
  readonly compare: 'above' | 'at-least';
  /** Milliseconds, a count, or a share of 1. Null: the rule has no such level. */
  readonly warning: number | null;
  readonly critical: number | null;
  /** How long the value must be bad before the alert fires. */
  readonly forMs: number;
  /** For a rule that counts events: over how long. */
  readonly windowMs: number | null;
  /** What the rule says, as one line. */
  readonly title: string;
  /** Why somebody should care. */
  readonly why: string;
  /** What to do about it. */
  readonly remedy: string;
  /** The PromQL twin; `$` stands for the threshold in seconds, as a count or as a share. */
  readonly twin: string;
  /** Only in the file for Prometheus: the monitor cannot say it of itself. */
  readonly prometheusOnly: boolean;
}

/** What a rule sees of one subject at one moment. */
export interface Observation {
  readonly subject: string;
  readonly value: number;
  /** Of the value: `held for 12m by billing web-3 4711`. A function, because most observations are never shown. */
  readonly words: () => string;
  /** The server that the subject is on, or is; null for a lock that several servers vote on, and for a fleet. */
  readonly server: string | null;
  /** What a monitor that starts later cannot see any more. Stored in the alert, and given to the rule with each look. */
  readonly evidence?: string;
  /** The value may be higher, since the monitor did not see the beginning: it ends no alert that has the same evidence. */
  readonly isAtLeast?: boolean;
}

/** What one rule saw at one moment. */
export interface Judgement {
  readonly rule: string;
  readonly observations: readonly Observation[];
  /**
   * Whether the figures behind this subject are too old to be judged, or not known. Such an alert stays as it is: it
   * neither fires nor ends. A subject that is neither observed nor frozen is fine, or gone.
   */
  isFrozen(subject: string, server: string | null): boolean;
}
