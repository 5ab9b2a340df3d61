/** Scripted data: a shop whose sale has begun, at ten past three in the morning. */
import type {
  AlertView,
  AuditEntry,
  HoldView,
  Row,
  ServerCard,
  State,
  TicketView,
} from '../../../src/api/types.ts';

export function makeRow(name: string, part: Partial<Row> = {}): Row {
  const at = Date.now();
  return {
    name,
    kind: 'lock',
    holder: `5f0c9a3e-1b1d-4c64-9a58-0d6f3a9be001:${name.length}`,
    app: 'billing',
    host: 'web-3',
    pid: 4711,
    grantedAt: at - 12_000,
    exact: true,
    expiresAt: at + 26_000,
    leaseMs: 30_000,
    renewing: true,
    renewedAt: at - 4_000,
    late: false,
    eternal: false,
    ownerGone: false,
    count: 1,
    fence: 1_794_000_123_456_789,
    waiting: 0,
    firstWaitAt: null,
    votes: null,
    server: '127.0.0.1:6379',
    seenAt: at,
    ...part,
  };
}

export function makeCard(id: string, part: Partial<ServerCard> = {}): ServerCard {
  const at = Date.now();
  return {
    id,
    role: 'primary',
    health: 'up',
    healthSince: at - 864_000_00,
    trouble: null,
    seenAt: at,
    version: '7.2.5',
    product: 'redis',
    startedAt: at - 12 * 86_400_000,
    guardedUntil: null,
    memoryUsed: 1.31e9,
    memoryLimit: 2.147e9,
    memoryLimitFrom: 'maxmemory',
    evictionPolicy: 'noeviction',
    mayEvict: false,
    evictedTotal: 0,
    cpu: 0.34,
    cpuSecondsTotal: 12_345,
    clients: 412,
    clientsLimit: 10_000,
    rejectedTotal: 0,
    commandsPerSecond: 8_400,
    roundTripP50Ms: 0.4,
    roundTripP99Ms: 2.1,
    replicas: 2,
    replicasSeenMax: 2,
    replicaLagSeconds: 0,
    persistence: 'ok',
    clockOffsetMs: 1.2,
    clockErrorMs: 0.2,
    keys: 20_700,
    ownCommandsPerSecond: 61,
    ...part,
  };
}

export function makeAlert(part: Partial<AlertView> = {}): AlertView {
  const at = Date.now();
  return {
    fingerprint: '9f2c',
    incident: '9f2c.4',
    rule: 'memory-high',
    level: 'critical',
    subject: 'redis-2:6379',
    subjectKind: 'server',
    state: 'firing',
    since: at - 260_000,
    firedAt: at - 140_000,
    resolvedAt: null,
    summary: 'memory 96 % of 2 GB, limit 95 %',
    why: 'At its limit Redis refuses writes: no lock can be taken, and none renewed.',
    todo: 'Free memory or raise maxmemory. Look for keys that grew: redis-cli --bigkeys.',
    deliveries: [
      { receiver: 'slack', state: 'sent', tries: 1, at: at - 139_000, nextAt: null, error: null },
      {
        receiver: 'mail',
        state: 'retrying',
        tries: 4,
        at: at - 60_000,
        nextAt: at + 120_000,
        error: '451 try later',
      },
    ],
    ack: null,
    silence: null,
    inhibitedBy: null,
    ...part,
  };
}

const OWNERS = [
  { app: 'billing', host: 'web-3', pid: 4711 },
  { app: 'mailer', host: 'web-1', pid: 88 },
  { app: 'checkout', host: 'web-2', pid: 901 },
  { app: 'reports', host: 'batch-1', pid: 17 },
] as const;

/** Many quiet locks behind those of the story. */
export function makeCrowd(size: number): Row[] {
  const at = Date.now();
  return Array.from({ length: size }, (_, index) =>
    makeRow(`order:${10_000 + index}`, {
      ...(OWNERS[index % OWNERS.length] ?? OWNERS[0]),
      grantedAt: at - 1_000 - (index % 90) * 700,
      expiresAt: at + 12_000 + (index % 17) * 1_000,
    }),
  );
}

function story(): Row[] {
  const at = Date.now();
  return [
    makeRow('order:1001', {
      late: true,
      grantedAt: at - 251_000,
      expiresAt: at + 6_000,
      waiting: 5,
      firstWaitAt: at - 41_000,
      count: 2,
      renewedAt: at - 24_000,
    }),
    makeRow('invoice:2026-11', {
      ...OWNERS[3],
      ownerGone: true,
      expiresAt: at + 14_000,
      grantedAt: at - 96_000,
    }),
    makeRow('migrate', {
      ...OWNERS[2],
      eternal: true,
      expiresAt: null,
      leaseMs: null,
      renewing: false,
      exact: false,
      grantedAt: at - 5_400_000,
    }),
    makeRow('cron:night', { ...OWNERS[3], host: 'web-1', pid: 88, waiting: 1, firstWaitAt: at - 9_000 }),
    makeRow('stock:sku-77', {
      kind: 'free',
      holder: '',
      app: null,
      host: null,
      pid: null,
      grantedAt: null,
      expiresAt: null,
      leaseMs: null,
      waiting: 2,
      firstWaitAt: at - 300,
    }),
    makeRow('cache:front', {
      kind: 'mutex',
      app: null,
      host: null,
      pid: null,
      fence: null,
      leaseMs: null,
      renewing: false,
      renewedAt: null,
    }),
    makeRow('customer:ann@example.com:address-book-with-a-rather-long-name', {
      ...OWNERS[1],
      exact: false,
      grantedAt: at - 1_400_000,
    }),
  ];
}

export function makeState(part: Partial<State> = {}): State {
  const at = Date.now();
  const locks = part.locks ?? [...story(), ...makeCrowd(60)];
  return {
    id: 'e1-0',
    at,
    fleet: 'shop',
    version: 'scripted',
    topology: {
      kind: 'single',
      quorum: null,
      slotsOk: null,
      sentinels: null,
      clockSpreadMs: null,
      clockErrorMs: null,
    },
    totals: {
      held: locks.filter(({ kind }) => kind !== 'free').length,
      waiting: locks.reduce((sum, { waiting }) => sum + waiting, 0),
      late: locks.filter(({ late }) => late).length,
      lost: 0,
      lookedAt: at,
    },
    servers: [
      makeCard('redis-1:6379'),
      makeCard('redis-2:6379', {
        memoryUsed: 2.06e9,
        cpu: 0.88,
        roundTripP99Ms: 74,
        evictionPolicy: 'allkeys-lru',
        mayEvict: true,
        replicas: 1,
      }),
    ],
    alerts: [
      makeAlert(),
      makeAlert({
        fingerprint: '11aa',
        incident: '11aa.1',
        rule: 'renewals-late',
        level: 'warning',
        subject: 'order:1001',
        subjectKind: 'lock',
        since: at - 18_000,
        summary: '6 s of 30 s left, renewed 24 s ago',
        why: 'The owner is about to lose the lock while it works.',
        todo: 'Look at the owner: its CPU, its garbage collection, its network.',
        deliveries: [],
        ack: { by: 'ann', at: at - 9_000, until: at + 3_600_000, reason: 'I look at web-3' },
      }),
    ],
    survey: { passedAt: at - 3_000, keys: 20_700, tookMs: 4_100, keysNow: 800, leftOut: 0 },
    forbidden: [],
    limits: { memoryShare: 0.8, cpuShare: 0.8, clientsShare: 0.8, roundTripMs: 50 },
    reach: { holdsSince: at - 3_600_000, seriesSince: at - 3_600_000 },
    viewer: { user: 'ann', mayAct: true, csrf: 'csrf-of-ann' },
    ...part,
    locks,
  };
}

export function makeLine(length: number): TicketView[] {
  const at = Date.now();
  return Array.from({ length }, (_, index) => ({
    place: index + 1,
    session: `77aa0${index}c4-0000-4000-8000-000000000000`,
    ...(index === 3
      ? { app: null, host: null, pid: null }
      : (OWNERS[(index + 2) % OWNERS.length] ?? OWNERS[0])),
    joinedAt: at - 41_000 + index * 6_000,
    listening: index !== 2,
  }));
}

export function makeHolds(): HoldView[] {
  const at = Date.now();
  const hold = (owner: number, from: number, to: number | null, part: Partial<HoldView> = {}): HoldView => ({
    holder: `5f0c9a3e-1b1d-4c64-9a58-0d6f3a9be00${owner}:1`,
    ...(OWNERS[owner] ?? OWNERS[0]),
    from: at - from * 1_000,
    to: to === null ? null : at - to * 1_000,
    end: to === null ? null : 'released',
    sure: to === null ? null : 'yes',
    withinMs: to === null ? null : 1_000,
    ...part,
  });
  return [
    hold(0, 251, null),
    hold(2, 900, 260, { end: 'expired', withinMs: 250 }),
    hold(1, 1_300, 905),
    hold(3, 2_000, 1_600, { end: 'forced', withinMs: 0 }),
    hold(0, 3_300, 2_050, { end: 'ran-out', sure: 'likely' }),
  ];
}

export function makeAudit(): AuditEntry[] {
  const at = Date.now();
  return [
    {
      id: '2-1',
      askedAt: at - 1_600_000,
      doneAt: at - 1_599_000,
      action: 'release',
      subject: 'order:1001',
      holder: '5f0c9a3e-1b1d-4c64-9a58-0d6f3a9be003:1',
      fence: 1_794_000_123_450_000,
      by: 'ann',
      via: 'page',
      host: 'ops-1',
      address: '10.0.0.7',
      reason: 'reports hung in its export; pid 17 was killed',
      result: 'released',
    },
    {
      id: '1-1',
      askedAt: at - 90_000_000,
      doneAt: null,
      action: 'silence',
      subject: 'memory-high',
      holder: null,
      fence: null,
      by: 'bob',
      via: 'cli',
      host: 'ops-2',
      address: null,
      reason: 'import runs until noon',
      result: null,
    },
  ];
}
