/** One server and its history, as the page sees them. */

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
  /** How long the command TIME took, over the last minute. */
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

/** The series of a server, 720 points of 5 s each. Shares are from 0 to 1, sizes in bytes. */
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
