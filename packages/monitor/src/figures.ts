/**
 * The picture in memory that the alert rules judge and `/metrics` shows. The sampler writes it; nobody else does. Times
 * are of the monitor's clock, in ms since 1970, as on the wire (api/types.ts).
 */
import type { End, Row, ServerCard, Surety, TopologyView, Totals } from './api/types.ts';

/** A hold that has ended, and how. */
export interface EndedHold {
  /** Grows by one with each end of this process; a rule remembers the last it has judged. */
  readonly seq: number;
  readonly at: number;
  readonly name: string;
  readonly holder: string;
  readonly end: End;
  readonly sure: Surety;
  /** For `vanished`: `restarted`, `flushed`, `evicted`, `failed over`. */
  readonly cause: string | null;
}

/** What counts up as long as this process lives. */
export interface Counters {
  readonly ends: Readonly<Record<End, number>>;
  /** `ends` for each group of names; `null` without groups. */
  readonly byGroup: ReadonlyMap<string, Readonly<Record<End, number>>> | null;
}

/** The picture of one moment. Objects in it are never changed: a new one replaces them. */
export interface Figures {
  readonly at: number;
  readonly fleet: string;
  /**
   * When the slowest lane last looked at all its locks; `null` before the first look. Rules about locks freeze while
   * `at - lookedAt` is over STALE_LOOK_MS. A lane whose server is down is stale too.
   */
  readonly lookedAt: number | null;
  /** When the monitor began to look. */
  readonly beganAt: number;
  readonly totals: Totals;
  readonly locks: ReadonlyMap<string, Row>;
  /** By id, sentinels included. Rules about a server freeze while `at - seenAt` is over STALE_SERVER_MS, but reachability. */
  readonly servers: ReadonlyMap<string, ServerCard>;
  readonly topology: TopologyView;
  /** Of the holds that were seen in the last hour. Seconds; `null` before the first. */
  readonly longestLeaseMs: number | null;
  /**
   * Servers whose locks this monitor has not all found and looked at yet: a lock of them that is not in `locks` may be held.
   */
  readonly unsurveyed: ReadonlySet<string>;
  /** Locks that were found and had no room in the picture: it is of the others only. */
  readonly leftOut: number;
  readonly counters: Counters;
  /** Ends since that time, the oldest first; at most ENDS_KEPT_MAX, and none older than ENDS_KEPT_MS. */
  endsSince(time: number): readonly EndedHold[];
}

/** Looks older than this say nothing of now. */
export const STALE_LOOK_MS = 15_000;

/** INFO comes every 5 s: three were missed. */
export const STALE_SERVER_MS = 15_000;

/** The longest window of a rule about ends is 5 minutes; an hour is for the page. */
export const ENDS_KEPT_MS = 3_600_000;
export const ENDS_KEPT_MAX = 10_000;

/** Where rules and metrics get the picture. */
export interface FiguresSource {
  /** The picture of now. Cheap: no copy of the locks is made. */
  read(): Figures;
  /** Called about once a second, after the lanes have looked. Returns how to stop. */
  onTick(listener: (figures: Figures) => void): () => void;
}
