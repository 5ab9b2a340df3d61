/** Pictures for rules to judge, with all well until a test says otherwise. */
import type { Row, ServerCard, TopologyView } from '../../../src/api/types.ts';
import type { EndedHold, Figures, FiguresSource } from '../../../src/figures.ts';

export const AT: number = Date.UTC(2030, 0, 1, 3, 0, 0);

export function row(given: Partial<Row> = {}): Row {
  return {
    name: 'order:1001',
    kind: 'lock',
    holder: 'session:1',
    app: 'billing',
    host: 'web-3',
    pid: 4711,
    grantedAt: AT - 1_000,
    exact: true,
    expiresAt: AT + 29_000,
    leaseMs: 30_000,
    renewing: true,
    renewedAt: AT - 1_000,
    late: false,
    eternal: false,
    ownerGone: false,
    count: 1,
    fence: 1,
    waiting: 0,
    firstWaitAt: null,
    votes: null,
    server: 'redis-1:6379',
    seenAt: AT,
    ...given,
  };
}

export function card(given: Partial<ServerCard> = {}): ServerCard {
  return {
    id: 'redis-1:6379',
    role: 'primary',
    health: 'up',
    healthSince: AT - 3_600_000,
    trouble: null,
    seenAt: AT,
    version: '7.0.15',
    product: 'redis',
    startedAt: AT - 86_400_000,
    guardedUntil: null,
    memoryUsed: 100,
    memoryLimit: 1_000,
    memoryLimitFrom: 'maxmemory',
    evictionPolicy: 'noeviction',
    mayEvict: false,
    evictedTotal: 0,
    cpu: 0.1,
    cpuSecondsTotal: 1,
    clients: 10,
    clientsLimit: 10_000,
    rejectedTotal: 0,
    commandsPerSecond: 100,
    roundTripP50Ms: 0.2,
    roundTripP99Ms: 1,
    replicas: 1,
    replicasSeenMax: 1,
    replicaLagSeconds: 0,
    persistence: 'ok',
    clockOffsetMs: 0,
    clockErrorMs: 1,
    keys: 10,
    ownCommandsPerSecond: 5,
    ...given,
  };
}

export interface FiguresGiven {
  readonly at?: number;
  readonly lookedAt?: number | null;
  readonly locks?: readonly Row[];
  readonly servers?: readonly ServerCard[];
  readonly topology?: Partial<TopologyView>;
  readonly ends?: readonly EndedHold[];
  readonly longestLeaseMs?: number | null;
  readonly unsurveyed?: readonly string[];
}

export function figures(given: FiguresGiven = {}): Figures {
  const { at = AT, locks = [], servers = [card({ seenAt: at })], ends = [] } = given;
  const lookedAt = given.lookedAt === undefined ? at : given.lookedAt;
  return {
    at,
    fleet: 'shop',
    lookedAt,
    beganAt: at - 3_600_000,
    totals: { held: locks.length, waiting: 0, late: 0, lost: 0, lookedAt },
    locks: new Map(locks.map((lock) => [lock.name, lock])),
    servers: new Map(servers.map((server) => [server.id, server])),
    topology: {
      kind: 'single',
      quorum: null,
      slotsOk: null,
      sentinels: null,
      clockSpreadMs: 0,
      clockErrorMs: 0,
      ...given.topology,
    },
    longestLeaseMs: given.longestLeaseMs ?? null,
    unsurveyed: new Set(given.unsurveyed),
    leftOut: 0,
    counters: {
      ends: { released: 0, expired: 0, 'ran-out': 0, forced: 0, vanished: 0, unconfirmed: 0, unknown: 0 },
      byGroup: null,
    },
    endsSince: (time) => ends.filter((end) => end.at >= time),
  };
}

export function ended(given: Partial<EndedHold> = {}): EndedHold {
  return {
    seq: 1,
    at: AT,
    name: 'order:1001',
    holder: 'session:1',
    end: 'expired',
    sure: 'yes',
    cause: null,
    ...given,
  };
}

/** A source whose picture a test changes. Ticks are driven by the test, or by `every`. */
export class FakeFigures implements FiguresSource {
  readonly #listeners = new Set<(figures: Figures) => void>();
  #make: () => Figures;

  constructor(make: () => Figures) {
    this.#make = make;
  }

  show(make: () => Figures): void {
    this.#make = make;
    this.tick();
  }

  read(): Figures {
    return this.#make();
  }

  onTick(listener: (figures: Figures) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tick(): void {
    const now = this.#make();
    for (const listener of this.#listeners) listener(now);
  }
}
