/**
 * What the monitor and its page say to each other. The page is built from this file too, so it imports nothing but types.
 *
 * All times are milliseconds since 1970 **by the clock of the monitor**: the clocks of several servers differ, and a page
 * can count down by one clock only. The sampler converts the server's times with the difference it measured. A page
 * measures its own difference to the monitor by `State.at` and `Hello.at`.
 *
 * In this folder: the JSON of the monitor as types. All other folders import from here, and so does the page.
 */
import type { AlertView, PlottedLimits } from './alert-types.ts';
import type { Row } from './row-types.ts';
import type { ServerCard } from './server-types.ts';

export type {
  AuditEntry,
  AuditPage,
  ErrorBody,
  ErrorCode,
  ReleaseRequest,
  SilenceRequest,
} from './action-types.ts';
export type {
  AlertLevel,
  AlertMatch,
  AlertPage,
  AlertView,
  DeliveryView,
  PlottedLimits,
  SilenceView,
} from './alert-types.ts';
export type { JobsPage, JobView } from './job-types.ts';
export type { Row } from './row-types.ts';
export type { History, SeriesName, ServerCard, ServerHealth, ServerRole } from './server-types.ts';
export { SERIES } from './server-types.ts';

/** How a hold ended, as inferred between two looks. See docs/operate/monitoring.md. */
export const ENDS = [
  'released',
  'expired',
  'ran-out',
  'forced',
  'vanished',
  'unconfirmed',
  'unknown',
] as const;
export type End = (typeof ENDS)[number];

/** `yes`: it cannot have been otherwise. `likely`: inferred. */
export type Surety = 'yes' | 'likely';

/** One hold that has ended, or the present one (`end` is null). */
export interface HoldView {
  readonly holder: string;
  readonly app: string | null;
  readonly host: string | null;
  readonly pid: number | null;
  readonly from: number;
  /** `null` for the present hold. */
  readonly to: number | null;
  readonly end: End | null;
  readonly sure: Surety | null;
  /** To how many ms `to` is known: the time between the two looks. */
  readonly withinMs: number | null;
}

/** One process in the line. */
export interface TicketView {
  readonly place: number;
  readonly session: string;
  readonly app: string | null;
  readonly host: string | null;
  readonly pid: number | null;
  readonly joinedAt: number;
  /** Whether it would hear of its turn. */
  readonly listening: boolean;
}

/** `GET api/v1/lock?name=`. */
export interface LockDetail {
  /** `null` when nothing stands under the name now. */
  readonly row: Row | null;
  /** At most 100. */
  readonly line: readonly TicketView[];
  /** How many there are in all. */
  readonly lineLength: number;
  /**
   * When the line was read. `null`: it was not, because so many others are open, or Redis is away, or the monitor's user may not;
   * then `line` is empty, and `lineLength` is that of the last look.
   */
  readonly lineAt: number | null;
  /** Holds of the last hour, the newest first, at most 200. */
  readonly holds: readonly HoldView[];
  /** Since when holds are remembered. */
  readonly reach: number;
}

export type TopologyKind = 'single' | 'sentinel' | 'cluster' | 'quorum';

/** What holds for all servers together. */
export interface TopologyView {
  readonly kind: TopologyKind;
  /** How many servers of a quorum vote now, and how many must. Null for other topologies. */
  readonly quorum: { readonly voters: number; readonly needed: number; readonly of: number } | null;
  readonly slotsOk: number | null;
  /** Null also where sentinels that the client does not name decide whether enough are up. */
  readonly sentinels: { readonly up: number; readonly quorum: number; readonly known: number } | null;
  /** The farthest two clocks of primaries or members are apart, and how far that may be wrong. */
  readonly clockSpreadMs: number | null;
  readonly clockErrorMs: number | null;
}

/** The figures of the top bar. */
export interface Totals {
  readonly held: number;
  readonly waiting: number;
  readonly late: number;
  /** Holds that ended `expired` or `vanished` in the last 5 minutes. */
  readonly lost: number;
  /** When the oldest of the lanes last looked; the age of the data. `null` before the first look. */
  readonly lookedAt: number | null;
}

/** How far the walk over all keys has come. */
export interface SurveyView {
  /** When a whole pass last ended on every server; `null` before the first. */
  readonly passedAt: number | null;
  /** Keys of that pass. */
  readonly keys: number;
  /** How long it took. */
  readonly tookMs: number | null;
  /** How many keys the pass under way has seen so far. */
  readonly keysNow: number;
  /** Locks that were found and had no room in the picture. */
  readonly leftOut: number;
}

/** A right that the Redis user of the monitor lacks, and the ACL line that gives it. */
export interface Forbidden {
  readonly server: string;
  readonly what: string;
  readonly aclLine: string;
}

/** Who looks at the page, and what they may do. */
export interface Viewer {
  readonly user: string | null;
  readonly mayAct: boolean;
  /** To be sent as `X-Holdfast-Csrf` with every POST; '' for who may not act. */
  readonly csrf: string;
}

/** `GET api/v1/state`. */
export interface State {
  /** Stream position: open `stream?from=<id>` to go on from here. */
  readonly id: string;
  readonly at: number;
  readonly fleet: string;
  readonly version: string;
  readonly topology: TopologyView;
  readonly totals: Totals;
  readonly locks: readonly Row[];
  readonly servers: readonly ServerCard[];
  readonly alerts: readonly AlertView[];
  /** Null: no rule is judged, because the monitor was started without a configuration. */
  readonly limits: PlottedLimits | null;
  readonly survey: SurveyView;
  readonly forbidden: readonly Forbidden[];
  readonly reach: { readonly holdsSince: number; readonly seriesSince: number };
  readonly viewer: Viewer;
}

/** Server-sent events: the `event:` name, and the JSON of its `data:`. Every one but `hello` and `reset` has an id. */
export interface StreamEvents {
  /** First event of a stream. `version` differs from the page's own: it reloads. */
  readonly hello: { readonly at: number; readonly version: string };
  /** At most four a second: rows that changed, whole, and names that are gone. */
  readonly locks: {
    readonly at: number;
    readonly changed: readonly Row[];
    readonly removed: readonly string[];
    readonly totals: Totals;
  };
  /** Once a second: the cards that changed, ids that are gone. */
  readonly servers: {
    readonly at: number;
    readonly changed: readonly ServerCard[];
    readonly removed: readonly string[];
    readonly topology: TopologyView;
    readonly survey: SurveyView;
    readonly forbidden: readonly Forbidden[];
    readonly limits: PlottedLimits | null;
  };
  /** All alerts that are not inactive, whole, when one changed. */
  readonly alert: { readonly at: number; readonly alerts: readonly AlertView[] };
  /** Words for people: an action was done, the picture starts anew. */
  readonly notice: { readonly at: number; readonly text: string };
  /** The position is not known any more: fetch `state` and go on from its id. */
  readonly reset: { readonly at: number };
}
export type StreamEventName = keyof StreamEvents;
