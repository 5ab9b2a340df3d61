/**
 * Everything that reads Redis: the servers, their lanes, who the holders are, and the picture that comes of it.
 *
 * In this folder: the sampler, its loops, and the jobs, which are read only while somebody looks. `servers/` watches
 * servers, `locks/` reads locks. Only `http/`, `monitor.ts` and `options.ts` import from here.
 */
import { performance } from 'node:perf_hooks';
import type { SessionRecord } from 'holdfast';
import type { Forbidden, History, SeriesName, ServerCard, SurveyView, TopologyView } from '../api/types.ts';
import type { Figures, FiguresSource } from '../figures.ts';
import { matcherOf } from './locks/glob.ts';
import { LockGroups } from './locks/groups.ts';
import { KnownNames } from './locks/known-names.ts';
import { Lane, type LaneTerms } from './locks/lane.ts';
import { Picture } from './locks/picture.ts';
import { SessionRecords } from './locks/session-records.ts';
import { type SeenEnd, Settler } from './locks/settler.ts';
import { type Layout, layoutOf, type MonitorRedis } from './servers/clients.ts';
import { Deployment } from './servers/deployment.ts';
import { describeForbidden } from './servers/forbidden.ts';
import type { ServerWatch } from './servers/server-watch.ts';

/** What a new configuration changes while the monitor runs. */
export interface Reloadable {
  readonly mutexes: readonly string[];
  readonly groups: readonly string[];
  readonly memoryLimit: number | null;
}

export interface SamplerOptions {
  readonly redis: MonitorRedis;
  readonly fleet: string;
  readonly prefix: string;
  readonly budget: number;
  readonly reloadable: Reloadable;
  readonly readRecords: (sessions: readonly string[]) => Promise<ReadonlyMap<string, SessionRecord>>;
  /** Reads what the audit trail has new; never rejects. */
  readonly readAudit: () => Promise<void>;
  /** Whether an operator took it, by the audit trail. */
  readonly takeForced: (end: SeenEnd) => boolean;
  readonly holdsMax?: number | undefined;
  readonly locksMax?: number | undefined;
}

const TICK_MS = 1_000;
/** A page that asked about a lock within this time is open. */
const OPEN_MS = 3_000;

/** Milliseconds since 1970 that never go back: inference subtracts them. */
function now(): number {
  return performance.timeOrigin + performance.now();
}

export class Sampler implements FiguresSource {
  readonly now: () => number = now;
  readonly layout: Layout;
  readonly picture: Picture;
  readonly deployment: Deployment;
  readonly records: SessionRecords;
  readonly #options: SamplerOptions;
  readonly #prefix: string;
  readonly #settlers = new Map<Lane, Settler>();
  readonly #open = new Map<string, number>();
  readonly #listeners = new Set<(figures: Figures) => void>();
  #tick: NodeJS.Timeout | undefined;
  #groups: LockGroups | null;
  #isMutex: ReturnType<LaneTerms['isMutex']>;
  #memoryLimit: number | null;

  constructor(options: SamplerOptions) {
    this.#options = options;
    this.layout = layoutOf(options.redis);
    const prefix = this.layout.keyPrefix + options.prefix;
    const { mutexes, groups, memoryLimit } = options.reloadable;
    this.#prefix = prefix;
    this.#groups = groupsOf(groups);
    this.#isMutex = matcherOf(mutexes, prefix);
    this.#memoryLimit = memoryLimit;
    this.records = new SessionRecords(options.readRecords, now, (session) => this.picture.renamed(session));
    this.picture = new Picture(
      {
        prefix,
        now,
        members: this.layout.kind === 'quorum' ? this.layout.places.length : null,
        lanes: () => this.deployment.lanes,
        ownerOf: (holder) => this.records.ownerOf(holder),
        groups: this.#groups,
      },
      options.holdsMax,
    );
    this.deployment = new Deployment(this.layout, {
      memoryLimit: () => this.#memoryLimit,
      now,
      changed: () => {},
      makeLane: (watch) => this.#makeLane(watch, prefix),
      endLane: (lane, heir) => this.#endLane(lane, heir),
    });
  }

  /** Groups of names, for metrics; `null` without. */
  get groups(): LockGroups | null {
    return this.#groups;
  }

  /** Looks by a new configuration from now on. Strings that it does not call mutexes any more are shown no more. */
  reload({ mutexes, groups, memoryLimit }: Reloadable): void {
    this.#memoryLimit = memoryLimit;
    this.#groups = groupsOf(groups);
    this.picture.ends.regroup(this.#groups);
    this.#isMutex = matcherOf(mutexes, this.#prefix);
    for (const { known } of this.deployment.lanes) {
      this.picture.looked(known.dropForeign((key) => this.#isMutex?.(key) === true));
    }
  }

  start(): void {
    this.deployment.start();
    this.records.start();
    this.#tick = setInterval(() => {
      const figures = this.read();
      for (const listener of this.#listeners) listener(figures);
    }, TICK_MS);
  }

  close(): void {
    clearInterval(this.#tick);
    this.deployment.close();
    this.records.close();
    for (const settler of this.#settlers.values()) settler.close();
  }

  /** Somebody looks at that lock now: it is read in the fast lane for some seconds. */
  open(name: string): void {
    this.#open.set(name, now());
  }

  #makeLane(watch: ServerWatch, prefix: string): Lane {
    const known = new KnownNames((gone) => settler.add(gone), this.#options.locksMax);
    const lane = new Lane(watch, known, {
      pattern: `${prefix.replace(/[\\*?[\]^-]/g, '\\$&')}*`,
      isMutex: () => this.#isMutex,
      budget: this.#options.budget,
      now,
      open: () => this.#openKeys(prefix),
      looked: (_lane, keys) => this.picture.looked(keys),
    });
    const settler = new Settler(watch, {
      now,
      readAudit: this.#options.readAudit,
      takeForced: (end) => this.#options.takeForced({ ...end, name: end.name.slice(prefix.length) }),
      settled: (gone, verdict) => this.picture.ended(lane, gone, verdict),
    });
    this.#settlers.set(lane, settler);
    watch.lane = laneFigures(lane, this.picture, prefix);
    lane.start();
    settler.start();
    return lane;
  }

  #endLane(lane: Lane, heir: Lane | null): void {
    const keys = lane.known.names();
    heir?.known.adopt(lane.known);
    this.#settlers.get(lane)?.close();
    this.#settlers.delete(lane);
    this.picture.looked(keys);
  }

  *#openKeys(prefix: string): Generator<string> {
    for (const [name, at] of this.#open) {
      if (now() - at > OPEN_MS) this.#open.delete(name);
      else if (this.layout.kind !== 'cluster' || this.picture.rows.has(name)) yield prefix + name;
    }
  }

  onTick(listener: (figures: Figures) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  cards(): ServerCard[] {
    const guardMs = this.layout.kind === 'quorum' ? (this.picture.longestLeaseMs ?? 0) : 0;
    return this.deployment.cards().map((card) => {
      const until = card.startedAt === null ? 0 : card.startedAt + guardMs;
      return guardMs > 0 && until > now() && card.role === 'primary'
        ? { ...card, guardedUntil: until }
        : card;
    });
  }

  topology(cards: readonly ServerCard[]): TopologyView {
    return this.deployment.topology(cards, now());
  }

  read(): Figures {
    const at = now();
    const cards = this.cards();
    const { rows, ends, longestLeaseMs, lookedAt, beganAt } = this.picture;
    return {
      at,
      fleet: this.#options.fleet,
      lookedAt,
      beganAt,
      totals: this.picture.totals(),
      locks: rows,
      servers: new Map(cards.map((card) => [card.id, card])),
      topology: this.topology(cards),
      longestLeaseMs,
      unsurveyed: new Set(this.deployment.lanes.flatMap((lane) => (lane.hasSeenAll ? [] : lane.watch.id))),
      leftOut: this.#leftOut(),
      counters: ends.counters,
      endsSince: (time) => ends.since(time, at),
    };
  }

  survey(): SurveyView {
    const all = this.deployment.lanes.map(({ survey }) => survey);
    const passed = all.map(({ passedAt }) => passedAt);
    const sum = (pick: (one: (typeof all)[number]) => number): number =>
      all.reduce((n, one) => n + pick(one), 0);
    return {
      passedAt: all.length === 0 || passed.includes(null) ? null : Math.min(...passed.map(Number)),
      keys: sum(({ keys }) => keys),
      tookMs: all.length === 0 ? null : Math.max(...all.map(({ tookMs }) => tookMs ?? 0)),
      keysNow: sum(({ keysNow }) => keysNow),
      leftOut: this.#leftOut(),
    };
  }

  /** The members of a quorum leave out the same locks, the nodes of a cluster each their own. */
  #leftOut(): number {
    const each = this.deployment.lanes.map(({ survey }) => survey.leftOut);
    return this.layout.kind === 'quorum' ? Math.max(0, ...each) : each.reduce((sum, one) => sum + one, 0);
  }

  forbidden(): Forbidden[] {
    return this.deployment.watches.flatMap((watch) => describeForbidden(watch.id, watch.forbidden));
  }

  get seriesSince(): number {
    const known = this.deployment.watches.flatMap(({ series }) => series.since ?? []);
    return known.length === 0 ? now() : Math.min(...known);
  }

  /** `null` for a server that is not watched. */
  history(server: string, names: readonly SeriesName[]): History | null {
    return this.deployment.watchOf(server)?.series.read(server, names) ?? null;
  }
}

function groupsOf(patterns: readonly string[]): LockGroups | null {
  return patterns.length === 0 ? null : new LockGroups(patterns);
}

function laneFigures(lane: Lane, picture: Picture, prefix: string): NonNullable<ServerWatch['lane']> {
  let changesBefore = 0;
  let at = now();
  return () => {
    let locksHeld = 0;
    let waiting = 0;
    let firstWaitAt: number | null = null;
    for (const [key, state] of lane.known.entries()) {
      if (state.hold !== null) locksHeld += 1;
      waiting += state.waiting;
      const row = state.waiting > 0 ? picture.rows.get(key.slice(prefix.length)) : undefined;
      if (row?.firstWaitAt != null) firstWaitAt = Math.min(firstWaitAt ?? row.firstWaitAt, row.firstWaitAt);
    }
    const seconds = Math.max(0.001, (now() - at) / 1000);
    const changesPerSecond = (lane.known.changes - changesBefore) / seconds;
    changesBefore = lane.known.changes;
    at = now();
    const longestWaitSeconds = firstWaitAt === null ? null : Math.max(0, (now() - firstWaitAt) / 1000);
    return { locksHeld, waiting, longestWaitSeconds, changesPerSecond };
  };
}
