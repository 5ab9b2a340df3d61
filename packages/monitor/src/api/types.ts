/**
 * What the monitor and its page say to each other. The page is built from this file too, so it imports nothing.
 *
 * All times are milliseconds since 1970 **by the clock of the monitor**: the clocks of several servers differ, and a page
 * can count down by one clock only. The sampler converts the server's times with the difference it measured. A page
 * measures its own difference to the monitor by `State.at` and `Hello.at`.
 */

/** What stands under a name. `free`: nobody holds it, and somebody waits in its line. */
export type RowKind = 'lock' | 'mutex' | 'free';

/** One lock, as it was last seen. `null` is "not known" in every field. */
export interface Row {
  readonly name: string;
  readonly kind: RowKind;
  /** `<session>:<number>`, of a mutex the digest of its value, '' of a free name. Send it back to take the lock away. */
  readonly holder: string;
  /** Who the holder is, by the record of its session. `null` where there is none. */
  readonly app: string | null;
  readonly host: string | null;
  readonly pid: number | null;
  /** Since when this holder has it. `null` for a free name. */
  readonly grantedAt: number | null;
  /** Whether `grantedAt` is the grant itself, to a look; otherwise the monitor first saw the hold then, "at least". */
  readonly exact: boolean;
  /** When the lease ends unless it is renewed. `null`: the key has no expiry, or the name is free. */
  readonly expiresAt: number | null;
  /** The whole lease: the longest time left that was seen of this hold. `null` until two looks saw it. */
  readonly leaseMs: number | null;
  /** Whether the time left was seen to rise: the holder renews. */
  readonly renewing: boolean;
  /** When it was last seen to rise. */
  readonly renewedAt: number | null;
  /** A renewing hold with less than a third of its lease left. */
  readonly late: boolean;
  /** Held without an expiry: blocks for ever. */
  readonly eternal: boolean;
  /** The record of its session was there and is gone, and the time left does not rise: its process died. */
  readonly ownerGone: boolean;
  /** How often the holder has entered it. */
  readonly count: number;
  /** The last fence given out. `null` for a mutex. */
  readonly fence: number | null;
  /** Processes in the line. */
  readonly waiting: number;
  /** When the first in line joined. */
  readonly firstWaitAt: number | null;
  /** In a quorum how many servers name this holder, and how many there are; otherwise `null`. */
  readonly votes: Votes | null;
  /** The server that has the name (`ServerCard.id`); `null` in a quorum. */
  readonly server: string | null;
  readonly seenAt: number;
}

export interface Votes {
  readonly has: number;
  readonly of: number;
}

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
  /** Holds of the last hour, the newest first, at most 200. */
  readonly holds: readonly HoldView[];
  /** Since when holds are remembered. */
  readonly reach: number;
}

/** The roles of a server; `sentinel` cards have no figures but reachability. */
export type ServerRole = 'primary' | 'replica' | 'sentinel' | 'unknown';

/** `up`; `down`: does not answer; `busy`: a script blocks it; `loading`; `refused`: login or rights. */
export type ServerHealth = 'up' | 'down' | 'busy' | 'loading' | 'refused';

/** One server, as it was last seen. `null` is "not known" in every field: a refused command, or none yet. */
export interface ServerCard {
  /** `host:port`. */
  readonly id: string;
  readonly role: ServerRole;
  readonly health: ServerHealth;
  /** Since when `health` is so. */
  readonly healthSince: number;
  /** Why it is not up, as one line; secrets are never in it. */
  readonly trouble: string | null;
  readonly seenAt: number | null;
  readonly version: string | null;
  readonly product: 'redis' | 'valkey' | null;
  readonly startedAt: number | null;
  /** In a quorum a server that restarted does not vote until this time; otherwise `null`. */
  readonly guardedUntil: number | null;
  readonly memoryUsed: number | null;
  /** maxmemory, else the configured limit, else the memory of its host. */
  readonly memoryLimit: number | null;
  readonly memoryLimitFrom: 'maxmemory' | 'config' | 'host' | null;
  readonly evictionPolicy: string | null;
  /** maxmemory is set and the policy is not noeviction. */
  readonly mayEvict: boolean | null;
  readonly evictedTotal: number | null;
  /** Share of one core that its main thread used, 0 to 1. */
  readonly cpu: number | null;
  readonly cpuSecondsTotal: number | null;
  readonly clients: number | null;
  readonly clientsLimit: number | null;
  readonly rejectedTotal: number | null;
  readonly commandsPerSecond: number | null;
  /** Of TIME, over the last minute. */
  readonly roundTripP50Ms: number | null;
  readonly roundTripP99Ms: number | null;
  readonly replicas: number | null;
  readonly replicasSeenMax: number | null;
  /** Of a primary: the replica that is furthest behind. Of a replica: its own. Seconds. */
  readonly replicaLagSeconds: number | null;
  readonly persistence: 'ok' | 'failing' | 'off' | null;
  /** Its clock less that of the monitor, and how far that may be wrong (half a round trip). */
  readonly clockOffsetMs: number | null;
  readonly clockErrorMs: number | null;
  readonly keys: number | null;
  /** Commands per second that the monitor itself sends to it. */
  readonly ownCommandsPerSecond: number | null;
}

/** The series of a server, 720 points of 5 s each. A unit for each: see SERIES_UNITS. */
export const SERIES = [
  'memoryUsed',
  'memoryLimit',
  'memoryShare',
  'evictedPerSecond',
  'cpu',
  'clients',
  'clientsShare',
  'rejectedPerSecond',
  'commandsPerSecond',
  'roundTripP50Ms',
  'roundTripP99Ms',
  'replicas',
  'replicaLagSeconds',
  'clockOffsetMs',
  'keys',
  'expiredPerSecond',
  'netInPerSecond',
  'netOutPerSecond',
  'fragmentation',
  'locksHeld',
  'waiting',
  'longestWaitSeconds',
  'changesPerSecond',
  'ownCommandsPerSecond',
] as const;
export type SeriesName = (typeof SERIES)[number];

/** `GET api/v1/servers/history?server=&series=a,b`: columns of equal length, oldest first; a gap is null. */
export interface History {
  readonly server: string;
  readonly stepMs: number;
  readonly times: readonly number[];
  readonly series: Readonly<Partial<Record<SeriesName, readonly (number | null)[]>>>;
}

export type TopologyKind = 'single' | 'sentinel' | 'cluster' | 'quorum';

/** What holds for all servers together. */
export interface TopologyView {
  readonly kind: TopologyKind;
  /** Of a quorum: servers that vote now, and how many must. */
  readonly quorum: { readonly voters: number; readonly needed: number; readonly of: number } | null;
  readonly slotsOk: number | null;
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
  /** Of the pass under way: keys so far. */
  readonly keysNow: number;
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
  };
  /** All alerts that are not inactive, whole, when one changed. */
  readonly alert: { readonly at: number; readonly alerts: readonly AlertView[] };
  /** Words for people: an action was done, the picture starts anew. */
  readonly notice: { readonly at: number; readonly text: string };
  /** The position is not known any more: fetch `state` and go on from its id. */
  readonly reset: { readonly at: number };
}
export type StreamEventName = keyof StreamEvents;

export type AlertLevel = 'warning' | 'critical';
export type AlertState = 'pending' | 'firing' | 'resolved';

/** How the message of an alert fares at one receiver. */
export interface DeliveryView {
  readonly receiver: string;
  readonly state: 'queued' | 'sent' | 'retrying' | 'dead' | 'silenced';
  readonly tries: number;
  /** Of the last try; when it was sent, for `sent`. */
  readonly at: number | null;
  readonly nextAt: number | null;
  /** Why the last try failed, one line without secrets. */
  readonly error: string | null;
}

export interface Acknowledgement {
  readonly by: string;
  readonly at: number;
  readonly until: number;
  readonly reason: string;
}

export interface SilenceView extends Acknowledgement {
  readonly id: string;
  readonly match: AlertMatch;
}

/** Which alerts are meant: all of the given fields must fit; `subject` may end in `*`. At least one field. */
export interface AlertMatch {
  readonly fingerprint?: string;
  readonly rule?: string;
  readonly subject?: string;
}

export interface AlertView {
  readonly fingerprint: string;
  /** `<fingerprint>.<counter>`. */
  readonly incident: string;
  readonly rule: string;
  readonly level: AlertLevel;
  /** A lock's name, a server's id, or the fleet. */
  readonly subject: string;
  readonly subjectKind: 'lock' | 'server' | 'fleet';
  readonly state: AlertState;
  /** When the condition became true. */
  readonly since: number;
  readonly firedAt: number | null;
  readonly resolvedAt: number | null;
  /** What was measured and what is allowed: "memory 96 % of 2 GB, limit 95 %". */
  readonly summary: string;
  readonly why: string;
  readonly todo: string;
  readonly deliveries: readonly DeliveryView[];
  readonly ack: Acknowledgement | null;
  readonly silence: SilenceView | null;
  /** The rule that speaks for it: it is not sent meanwhile. */
  readonly inhibitedBy: string | null;
}

/** `GET api/v1/alerts?before=`: `active` first, then a page of 100 of what has been. */
export interface AlertPage {
  readonly active: readonly AlertView[];
  readonly past: readonly AlertView[];
  readonly silences: readonly SilenceView[];
  /** Pass as `before` for the next page; `null` at the end. */
  readonly next: string | null;
}

/** One action in the audit trail: its entry `asked`, joined with its entry `done`. */
export interface AuditEntry {
  readonly id: string;
  readonly askedAt: number;
  readonly doneAt: number | null;
  readonly action: 'release' | 'silence' | 'ack' | 'reload';
  /** Name of the lock, or what was silenced. */
  readonly subject: string;
  readonly holder: string | null;
  readonly fence: number | null;
  readonly by: string;
  /** `page`, `cli`. */
  readonly via: string;
  readonly host: string;
  readonly address: string | null;
  readonly reason: string;
  /** `null`: asked, and nothing is known of the end. */
  readonly result: string | null;
}

/** `GET api/v1/audit?before=`: 100 entries, the newest first. */
export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  readonly next: string | null;
}

/** `POST api/v1/release`. 200 `{released: holder}`, 409 `{error, now: Row}`, 404 when nobody holds it. */
export interface ReleaseRequest {
  readonly name: string;
  readonly holder: string;
  /** As shown; `null` for a mutex. */
  readonly fence: number | null;
  readonly reason: string;
}

/** `POST api/v1/silence` and `ack`. */
export interface SilenceRequest {
  readonly match: AlertMatch;
  readonly until: number;
  readonly reason: string;
}

/** Every answer that is not 2xx. */
export interface ErrorBody {
  readonly error: { readonly code: ErrorCode; readonly message: string };
  /** With `changed`: the lock as it is now. */
  readonly now?: Row;
}
export type ErrorCode =
  | 'bad-request'
  | 'login-needed'
  | 'wrong-login'
  | 'slow-down'
  | 'forbidden'
  | 'actions-off'
  | 'bad-origin'
  | 'bad-host'
  | 'not-found'
  | 'not-held'
  | 'changed'
  | 'too-large'
  | 'too-many-streams'
  | 'audit-failed'
  | 'redis-away'
  | 'internal';
