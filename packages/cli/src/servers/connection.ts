/**
 * Connects to the servers before anything else is tried, so that a wrong address, a wrong password or something
 * that is no Redis at all is told in one line, within seconds, and with a code of its own.
 */
import { Redis } from 'ioredis';
import type { ExitName } from '../exit-codes.ts';
import { Failure, oneLine } from '../failure.ts';
import { type Address, isCluster, resolveAddresses, type ServerFlags } from './address.ts';
import { type ClusterWay, findCluster } from './cluster.ts';
import { speaksSomethingElse } from './sniff.ts';

/**
 * The whole of it, handshake included. A lost packet may be sent again once; a person waits for an answer no longer,
 * also on a machine that is so busy that we take seconds to start.
 */
const CONNECT_MS_MAX = 2_000;

/** A server that let us in. */
export interface Server {
  readonly label: string;
  readonly redis: Redis;
}

/** One that did not, and why. */
export interface Refusal {
  readonly label: string;
  readonly exit: ExitName;
  readonly reason: string;
}

export interface Servers {
  readonly up: readonly Server[];
  readonly down: readonly Refusal[];
  /** All of them, for a quorum that works while a minority is down. */
  readonly clients: readonly Redis[];
  /** The way to the cluster that the servers are the primaries of; null when they are none. */
  readonly cluster: ClusterWay | null;
  close(): void;
}

/** Tries every server, and says of each whether it answers. */
export async function reachServers(flags: ServerFlags): Promise<Servers> {
  const addresses = resolveAddresses(flags, process.env);
  if (isCluster(flags, process.env)) return reachCluster(addresses);
  return gather(await Promise.all(addresses.map(connect)), null);
}

/** Those that were named lead to the primaries, which are then tried like any servers. */
async function reachCluster(named: readonly Address[]): Promise<Servers> {
  const guides = gather(await Promise.all(named.map(connect)), null);
  if (guides.up.length === 0) return guides;
  try {
    const found = await findCluster(named, guides.up);
    return gather(await Promise.all(found.primaries.map(connect)), found);
  } finally {
    guides.close();
  }
}

function gather(attempts: readonly Attempt[], cluster: ClusterWay | null): Servers {
  const up = attempts.flatMap(({ redis, refusal, label }) => (refusal === null ? [{ label, redis }] : []));
  const down = attempts.flatMap(({ refusal }) => (refusal === null ? [] : [refusal]));
  const clients = attempts.map(({ redis }) => redis);
  const close = (): void => {
    for (const redis of clients) redis.disconnect();
    cluster?.client.disconnect();
  };
  return { up, down, clients, cluster, close };
}

/** As `reachServers`; fails unless a majority answers, or one primary of a cluster. */
export async function openServers(flags: ServerFlags): Promise<Servers> {
  const servers = await reachServers(flags);
  const needed = servers.cluster === null ? Math.floor(servers.clients.length / 2) + 1 : 1;
  if (servers.up.length >= needed) return servers;
  throw refuseAll(servers);
}

/** Too few are up to go on: why, in one line. */
export function refuseAll(servers: Servers): Failure {
  servers.close();
  const { down, clients } = servers;
  const said = down.map(({ label, reason }) => `${label}: ${reason}`).join('; ');
  // When they disagree, the outage is what to look at first.
  const exit = down.every((refusal) => refusal.exit === down[0]?.exit) ? down[0]?.exit : 'unreachable';
  const message = clients.length === 1 ? said : `${down.length} of ${clients.length} servers: ${said}`;
  return new Failure(exit ?? 'unreachable', message);
}

/** Connects again what was lost: the client was told not to do so by itself, so that the first failure is the last. */
export async function revive(redis: Redis): Promise<void> {
  if (redis.status === 'end' || redis.status === 'close') await redis.connect().catch(() => {});
}

interface Attempt {
  readonly label: string;
  readonly redis: Redis;
  readonly refusal: Refusal | null;
}

async function connect({ label, options }: Address): Promise<Attempt> {
  const { sentinels, tls, ...rest } = options;
  const redis = new Redis({
    ...rest,
    ...(sentinels === undefined ? {} : { sentinels: [...sentinels], sentinelRetryStrategy: () => null }),
    ...(tls === undefined ? {} : { tls: { ...tls } }),
    lazyConnect: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    enableReadyCheck: false,
    connectTimeout: CONNECT_MS_MAX,
    // Our own goodbye must not hold the process.
    disconnectTimeout: 0,
  });
  // The client rejects with "Connection is closed."; the reason comes as an event before that.
  const causes: unknown[] = [];
  redis.on('error', (error) => causes.push(error));
  try {
    await withinLimit(shakeHands(redis, options.db ?? 0));
    return { label, redis, refusal: null };
  } catch (error) {
    redis.disconnect();
    const { exit, reason } = await explain(causes[0] ?? error, options);
    return { label, redis, refusal: { label, exit, reason } };
  }
}

async function shakeHands(redis: Redis, db: number): Promise<void> {
  await redis.connect();
  // The client itself does not mind a database that does not exist.
  if (db > 0) await redis.select(db);
  else await redis.ping().catch(ignoreMissingRight);
}

/** A user without the right to PING has been let in all the same. */
function ignoreMissingRight(error: unknown): void {
  if (!(error instanceof Error) || !error.message.startsWith('NOPERM')) throw error;
}

async function withinLimit(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`no answer within ${CONNECT_MS_MAX / 1000} s`)),
      CONNECT_MS_MAX,
    );
  });
  try {
    await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
    // It may fail later, when nobody listens any more.
    work.catch(() => {});
  }
}

const NO_REDIS = 'what answers there is not a Redis server';

/** By what the client says: what it means for us, and how to say it. `$` is what it said. */
type Explanation = readonly [pattern: RegExp, exit: ExitName, reason: string];

const UNEXPLAINED: Explanation = [/$/, 'unreachable', '$'];

const EXPLANATIONS: readonly Explanation[] = [
  [/\bNOAUTH\b/, 'refused', 'the server asks for a password, and none was given'],
  [/\bWRONGPASS\b/, 'refused', 'the server refuses this user name and password'],
  [/\bNOPERM\b/, 'refused', 'the server refuses: $'],
  [/^ERR DB index/, 'usage', 'the server has no such database'],
  [/Unknown RESP type|Protocol error/i, 'protocol', NO_REDIS],
  [
    /wrong version number|packet length too long|SSL routines/i,
    'protocol',
    'what answers there does not speak TLS',
  ],
  [/certificate|self.signed|altnames/i, 'refused', 'the certificate of the server is not trusted: $'],
  [/ECONNREFUSED/, 'unreachable', 'nothing listens there (connection refused)'],
  [/ENOTFOUND|EAI_AGAIN/, 'unreachable', 'the name of the host cannot be resolved'],
  [/EHOSTUNREACH|ENETUNREACH/, 'unreachable', 'there is no way to that host'],
  [/ENOENT/, 'unreachable', 'there is no such socket'],
  [/ETIMEDOUT|no answer within/, 'unreachable', `no answer within ${CONNECT_MS_MAX / 1000} s`],
];

async function explain(
  cause: unknown,
  { tls, host, port }: Address['options'],
): Promise<{ exit: ExitName; reason: string }> {
  const said = oneLine(cause instanceof Error ? cause.message || cause.name : String(cause));
  const isHungUp = /ECONNRESET|EPIPE|Connection is closed/.test(said);
  if (isHungUp && tls === undefined && host !== undefined && port !== undefined) {
    if (await speaksSomethingElse(host, port)) return { exit: 'protocol', reason: NO_REDIS };
  }
  const [, exit, reason] = EXPLANATIONS.find(([pattern]) => pattern.test(said)) ?? UNEXPLAINED;
  // A plain server waits for the rest of what TLS began to say.
  const hint = tls !== undefined && /ETIMEDOUT|no answer/.test(said) ? '; does it speak TLS?' : '';
  return { exit, reason: reason.replace('$', () => said) + hint };
}
