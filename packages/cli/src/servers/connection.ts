/**
 * Connects to the servers before anything else is tried, so that a wrong address, a wrong password or something
 * that is not Redis is reported in one line, within seconds, and with an exit code of its own.
 *
 * In this folder: where the servers are (address, url, tls, cluster), connections to them, why one cannot be used
 * (refusal, probe), and the library over them (locks). Only `commands/`, `doctor/`, `locks/`, `monitor/` and `run/`
 * import from here.
 */
import { Redis } from 'ioredis';
import type { ExitName } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { printNotice } from '../output.ts';
import { type Address, type Environment, isCluster, resolveAddresses, type ServerFlags } from './address.ts';
import { type ClusterAccess, findCluster } from './cluster.ts';
import { explainRefusal } from './refusal.ts';
import type { Server } from './server.ts';

/** For connecting and the first reply together: a lost packet may be sent again once, and nobody waits longer for an answer. */
const CONNECT_MS_MAX = 2_000;
/** The limit is counted in steps of a timer: time in which this process did not run is not held against the server. */
const STEP_MS = 50;
/** For a command on an open connection, so that a frozen server does not keep us for ever. */
const COMMAND_MS_MAX = 10_000;

/** A server that cannot be used, and why. */
export interface Refusal {
  readonly label: string;
  readonly exit: ExitName;
  readonly reason: string;
}

export interface Servers {
  readonly up: readonly Server[];
  readonly down: readonly Refusal[];
  /** The addresses of all servers, for messages. */
  readonly labels: readonly string[];
  /** All servers, also those that are down: a quorum works while a minority is. */
  readonly clients: readonly Redis[];
  /** The cluster whose primaries the servers are; null when they are no cluster. */
  readonly cluster: ClusterAccess | null;
  close(): void;
}

/** Connects to every server; those that cannot be used are in `down`. */
export async function tryServers(
  flags: ServerFlags,
  environment: Environment = process.env,
): Promise<Servers> {
  const addresses = resolveAddresses(flags, environment);
  if (flags.insecure === true) warnOnce('--insecure: anybody on the way may pose as the server');
  if (isCluster(flags, environment)) return reachCluster(addresses);
  return collect(await Promise.all(addresses.map(connect)), null);
}

const warned = new Set<string>();

/** `watch` connects again and again. */
function warnOnce(message: string): void {
  if (!warned.has(message)) printNotice(`warning: ${message}`);
  warned.add(message);
}

/** Asks the nodes that were named for the primaries, and connects to those. */
async function reachCluster(named: readonly Address[]): Promise<Servers> {
  const seeds = collect(await Promise.all(named.map(connect)), null);
  if (seeds.up.length === 0) return seeds;
  try {
    const found = await findCluster(named, seeds.up);
    return collect(await Promise.all(found.primaries.map(connect)), found);
  } finally {
    seeds.close();
  }
}

function collect(attempts: readonly Attempt[], cluster: ClusterAccess | null): Servers {
  const up = attempts.flatMap(({ redis, refusal, label }) => (refusal === null ? [{ label, redis }] : []));
  const down = attempts.flatMap(({ refusal }) => (refusal === null ? [] : [refusal]));
  const clients = attempts.map(({ redis }) => redis);
  const close = (): void => {
    for (const redis of clients) redis.disconnect();
    cluster?.client.disconnect();
  };
  const labels = attempts.map(({ label }) => label);
  return { up, down, labels, clients, cluster, close };
}

/** As `tryServers`; fails unless a majority answers, or one primary of a cluster. */
export async function openServers(
  flags: ServerFlags,
  environment: Environment = process.env,
): Promise<Servers> {
  const servers = await tryServers(flags, environment);
  const count = servers.clients.length;
  const needed = servers.cluster === null ? Math.floor(count / 2) + 1 : 1;
  if (servers.up.length < needed) throw tooFewServers(servers);
  if (servers.cluster === null && count % 2 === 0) {
    const most = count - needed === 0 ? 'none' : String(count - needed);
    const spare = `${needed} must answer, so ${most} may fail, no more than with ${count - 1}`;
    warnOnce(`of ${count} servers ${spare}: use an odd number`);
  }
  return servers;
}

/** Closes the servers. The failure says of each why it cannot be used, in one line. */
export function tooFewServers(servers: Servers): Failure {
  servers.close();
  const { down, clients } = servers;
  const said = down.map(({ label, reason }) => `${label}: ${reason}`).join('; ');
  // Where the reasons differ, the exit code is that of an outage: that is to be looked at first.
  const exit = down.every((refusal) => refusal.exit === down[0]?.exit) ? down[0]?.exit : 'unreachable';
  const message = clients.length === 1 ? said : `${down.length} of ${clients.length} servers: ${said}`;
  return new Failure(exit ?? 'unreachable', message);
}

/** Opens a lost connection again. The client does not do so by itself: our first attempt must fail, not be repeated. */
export async function reconnect(redis: Redis): Promise<void> {
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
    // CONNECT_MS_MAX ends the attempt before this.
    connectTimeout: COMMAND_MS_MAX,
    commandTimeout: COMMAND_MS_MAX,
    // Disconnecting must not delay the exit.
    disconnectTimeout: 0,
  });
  // The client rejects with "Connection is closed."; the reason comes as an event before that.
  const causes: unknown[] = [];
  redis.on('error', (error) => causes.push(error));
  try {
    await withinLimit(connectAndPing(redis, options.db ?? 0));
    return { label, redis, refusal: null };
  } catch (error) {
    redis.disconnect();
    const { exit, reason } = await explainRefusal(causes[0] ?? error, options, CONNECT_MS_MAX);
    return { label, redis, refusal: { label, exit, reason } };
  }
}

async function connectAndPing(redis: Redis, db: number): Promise<void> {
  await redis.connect();
  // ioredis ignores the error about a database that does not exist.
  if (db > 0) await redis.select(db);
  else await redis.ping().catch(ignoreMissingRight);
}

/** A user without the right to PING is logged in all the same. */
function ignoreMissingRight(error: unknown): void {
  if (!(error instanceof Error) || !error.message.startsWith('NOPERM')) throw error;
}

async function withinLimit(work: Promise<void>): Promise<void> {
  let steps = 0;
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setInterval(() => {
      steps += 1;
      if (steps * STEP_MS >= CONNECT_MS_MAX) reject(new Error(`no answer within ${CONNECT_MS_MAX / 1000} s`));
    }, STEP_MS);
  });
  try {
    await Promise.race([work, limit]);
  } finally {
    clearInterval(timer);
    // Past the limit it may still reject, and nobody awaits it.
    work.catch(() => {});
  }
}
