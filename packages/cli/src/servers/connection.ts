/**
 * Connects to the servers before anything else is tried, so that a wrong address, a wrong password or something
 * that is no Redis at all is told in one line, within seconds, and with a code of its own.
 */
import { Redis } from 'ioredis';
import type { ExitName } from '../exit-codes.ts';
import { Failure, oneLine } from '../failure.ts';
import { tell } from '../output.ts';
import { type Address, type Environment, isCluster, resolveAddresses, type ServerFlags } from './address.ts';
import { type ClusterWay, findCluster } from './cluster.ts';
import { identify, tlsComplaint } from './sniff.ts';

/** The whole of it, handshake included. A lost packet may be sent again once; a person waits for an answer no longer. */
const CONNECT_MS_MAX = 2_000;
/** The limit is counted in steps: where we get no turn on a busy machine, the server is not the one that is silent. */
const STEP_MS = 50;
/** Of a command on a connection that works: a server that is frozen fails it, rather than keep us for ever. */
const COMMAND_MS_MAX = 10_000;

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
  /** Of all of them, as people read them. */
  readonly labels: readonly string[];
  /** All of them, for a quorum that works while a minority is down. */
  readonly clients: readonly Redis[];
  /** The way to the cluster that the servers are the primaries of; null when they are none. */
  readonly cluster: ClusterWay | null;
  close(): void;
}

/** Tries every server, and says of each whether it answers. */
export async function reachServers(
  flags: ServerFlags,
  environment: Environment = process.env,
): Promise<Servers> {
  const addresses = resolveAddresses(flags, environment);
  if (flags.insecure === true) warnOnce('--insecure: anybody on the way may pose as the server');
  if (isCluster(flags, environment)) return reachCluster(addresses);
  return gather(await Promise.all(addresses.map(connect)), null);
}

const warned = new Set<string>();

/** Some commands connect again and again. */
function warnOnce(message: string): void {
  if (!warned.has(message)) tell(`warning: ${message}`);
  warned.add(message);
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
  const labels = attempts.map(({ label }) => label);
  return { up, down, labels, clients, cluster, close };
}

/** As `reachServers`; fails unless a majority answers, or one primary of a cluster. */
export async function openServers(
  flags: ServerFlags,
  environment: Environment = process.env,
): Promise<Servers> {
  const servers = await reachServers(flags, environment);
  const count = servers.clients.length;
  const needed = servers.cluster === null ? Math.floor(count / 2) + 1 : 1;
  if (servers.up.length < needed) throw refuseAll(servers);
  if (servers.cluster === null && count % 2 === 0) {
    const most = count - needed === 0 ? 'none' : String(count - needed);
    const spare = `${needed} must answer, so ${most} may fail, no more than with ${count - 1}`;
    warnOnce(`of ${count} servers ${spare}: use an odd number`);
  }
  return servers;
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
    // Ours ends before it.
    connectTimeout: COMMAND_MS_MAX,
    commandTimeout: COMMAND_MS_MAX,
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
    // It may fail later, when nobody listens any more.
    work.catch(() => {});
  }
}

const NO_REDIS = 'what answers there is not a Redis server';
const NO_TLS = 'the server does not speak TLS: use redis:// in place of rediss://';
const ONLY_TLS = 'the server speaks TLS: use rediss:// in place of redis://';

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
    /alert (certificate required|bad certificate|unknown ca|handshake failure|certificate unknown)/i,
    'refused',
    'the server wants a certificate from us that it trusts: see --cert and --key',
  ],
  [
    /wrong version number|packet length too long|SSL routines/i,
    'protocol',
    'what answers there does not speak TLS',
  ],
  [
    /certificate|self.signed|altnames/i,
    'refused',
    'the certificate of the server is not trusted: $; see --ca, or --insecure for a trial',
  ],
  [/ECONNREFUSED/, 'unreachable', 'nothing listens there (connection refused)'],
  [/ENOTFOUND|EAI_AGAIN/, 'unreachable', 'the name of the host cannot be resolved'],
  [/EHOSTUNREACH|ENETUNREACH/, 'unreachable', 'there is no way to that host'],
  [/ENOENT/, 'unreachable', 'there is no such socket'],
  [
    /ETIMEDOUT|no answer within|Command timed out/,
    'unreachable',
    `no answer within ${CONNECT_MS_MAX / 1000} s`,
  ],
];

const HUNG_UP = /ECONNRESET|EPIPE|Connection is closed/;

/** What a client says that talks to something else than it thinks. */
const MISUNDERSTOOD =
  /ECONNRESET|EPIPE|Connection is closed|Unknown RESP type|Protocol error|ETIMEDOUT|no answer|timed out|wrong version|packet length|disconnected before secure/i;

async function explain(
  cause: unknown,
  options: Address['options'],
): Promise<{ exit: ExitName; reason: string }> {
  const first = oneLine(cause instanceof Error ? cause.message || cause.name : String(cause));
  const said = (await complaint(first, options)) || first;
  if (MISUNDERSTOOD.test(said)) {
    const reason = await misunderstanding(options);
    if (reason !== null) return { exit: 'protocol', reason };
  }
  const [, exit, reason] = EXPLANATIONS.find(([pattern]) => pattern.test(said)) ?? UNEXPLAINED;
  const { username, password } = options;
  const hint =
    exit === 'refused' && username !== undefined && password === ''
      ? '; no password was given: it goes into the URL or into HOLDFAST_REDIS_PASSWORD'
      : '';
  return { exit, reason: reason.replace('$', () => said) + hint };
}

/** What a server with TLS has against us, where the client only saw it hang up. */
async function complaint(said: string, { tls, host, port }: Address['options']): Promise<string> {
  if (tls === undefined || host === undefined || port === undefined) return '';
  return HUNG_UP.test(said) ? oneLine(await tlsComplaint(host, port, tls)) : '';
}

/** Looks at what is there; null when that explains nothing. */
async function misunderstanding({ tls, host, port }: Address['options']): Promise<string | null> {
  if (host === undefined || port === undefined) return null;
  const species = await identify(host, port);
  if (tls !== undefined) return species === 'redis' ? NO_TLS : null;
  if (species === 'tls') return ONLY_TLS;
  return species === 'other' ? NO_REDIS : null;
}
