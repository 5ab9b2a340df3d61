/**
 * Takes a lock and a mutex, hands them from one session to another and lets them go, as programs would; and listens and
 * speaks on the channels that they need.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Locks } from 'holdfast';
import type { Cluster, Redis } from 'ioredis';
import { oneLine } from '../failure.ts';
import type { Server } from '../servers/server.ts';
import { ok, problem, type Verdict, warning } from './finding.ts';

const LEASE_MS = 10_000;
/** The counter of the trial's fences need not outlive it. It expires this long after the lease: within a minute. */
const FENCE_TTL_MS = 50_000;
/** How long the trial waits for a lock that nobody else wants: a server that takes as long is slow, but can lock. */
const WAIT_MS = 5_000;
/** A waiter subscribes and joins the line within a few round trips. */
const LOOKS_MAX = 40;
const LOOK_EVERY_MS = 25;

const WOKEN = 'waiters can be woken by messages';

/** `hasLine`: the server decides alone, so that waiters stand in a line and hear of their turn by name. */
export async function tryLocking({ redis }: Server, prefix: string, hasLine: boolean): Promise<Verdict[]> {
  const name = `holdfast-doctor-${randomUUID()}`;
  const key = prefix + name;
  const channels = [tagged('redisson_lock__channel', key), tagged('holdfast_mutex__channel', key)];
  if (hasLine) channels.push(`holdfast_session:${randomUUID()}`);
  return [await tryScripts(redis, prefix, name), await tryMessages(redis, channels)];
}

/** As `tryLocking`, on a cluster: whether a waiter listens is asked of the node that has the name. */
export async function tryCluster(cluster: Cluster, prefix: string): Promise<Verdict[]> {
  const name = `holdfast-doctor-${randomUUID()}`;
  const scripts = await tryScripts(cluster, prefix, name);
  return scripts.level === 'ok' ? [scripts, await tryListening(cluster, prefix, name)] : [scripts];
}

/** Where a name has a brace, Redisson takes the tag of the name, and so does the library. */
function tagged(kind: string, key: string): string {
  return key.includes('{') ? `${kind}:${key}` : `${kind}:{${key}}`;
}

/** The line of waiters, whose key is never that of another name. */
function lineOf(key: string): string {
  return key.includes('{') ? `holdfast_line::${key}` : tagged('holdfast_line', key);
}

function saidBy(error: unknown): string {
  return oneLine(error instanceof Error ? error.message : String(error));
}

async function tryScripts(redis: Redis | Cluster, prefix: string, name: string): Promise<Verdict> {
  const options = { prefix, fenceTtlMs: FENCE_TTL_MS, application: false } as const;
  const [locks, next] = [new Locks(redis, options), new Locks(redis, options)];
  // A lock and a mutex need different rights: only a mutex is deleted as a key.
  let kind: 'lock' | 'mutex' = 'lock';
  try {
    for (kind of ['lock', 'mutex'] as const) {
      const lease = await locks[kind](name).acquire({ leaseMs: LEASE_MS, waitMs: WAIT_MS });
      await lease.extend(LEASE_MS);
      const waiting = next[kind](name).acquire({ leaseMs: LEASE_MS, waitMs: WAIT_MS });
      // What it says is read below, unless something else fails first.
      waiting.catch(() => {});
      await untilInLine(redis, lineOf(prefix + name));
      await lease.release();
      await (await waiting).release();
    }
    return ok('scripts', 'a lock and a mutex can be taken, renewed, handed over and released');
  } catch (error) {
    const advice = `give the user the rights of docs/operate/acl.md, for keys that begin with ${JSON.stringify(prefix)}`;
    return problem(
      'scripts',
      `a ${kind} cannot be taken, handed over and released: ${saidBy(error)}`,
      advice,
    );
  } finally {
    await Promise.all([locks.close(), next.close()]);
  }
}

/** Until somebody waits: a line is made for that. A user that may not look goes on after a second. */
async function untilInLine(redis: Redis | Cluster, line: string): Promise<void> {
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    if ((await redis.hlen(line).catch(() => 0)) > 0) return;
    await sleep(LOOK_EVERY_MS);
  }
}

async function tryListening(cluster: Cluster, prefix: string, name: string): Promise<Verdict> {
  const options = { prefix, fenceTtlMs: FENCE_TTL_MS, application: false } as const;
  const [owner, waiter] = [new Locks(cluster, options), new Locks(cluster, options)];
  try {
    const lease = await owner.lock(name).acquire({ leaseMs: LEASE_MS, waitMs: WAIT_MS });
    const waiting = waiter.lock(name).acquire({ leaseMs: LEASE_MS, waitMs: LEASE_MS });
    waiting.catch(() => {});
    const isListening = async (): Promise<boolean> => {
      const found = await owner.inspect(name);
      return found?.kind === 'lock' && found.line.some((one) => one.isListening);
    };
    let hears = false;
    for (let look = 0; look < LOOKS_MAX && !hears; look += 1) {
      await sleep(LOOK_EVERY_MS);
      hears = await isListening();
    }
    await lease.release();
    if (hears) return ok('messages', WOKEN);
    return warning(
      'messages',
      'a waiter does not hear of its turn: it waits for its timer, and others are served before it',
      'give the user the rights for a cluster of docs/operate/acl.md',
    );
  } catch (error) {
    return warning(
      'messages',
      `whether waiters are woken could not be seen: ${saidBy(error)}`,
      'run the doctor again',
    );
  } finally {
    await Promise.all([owner.close(), waiter.close()]);
  }
}

async function tryMessages(redis: Redis, channels: readonly string[]): Promise<Verdict> {
  const listener = redis.duplicate({ lazyConnect: true });
  listener.on('error', () => {});
  let tried = '';
  const said = await (async () => {
    await listener.connect();
    for (const channel of channels) {
      tried = channel.replace(/:.*/, ':*');
      await listener.subscribe(channel);
      await redis.publish(channel, '0');
    }
  })().then(() => null, saidBy);
  listener.disconnect();
  if (said === null) return ok('messages', WOKEN);
  return warning(
    'messages',
    `waiters cannot be woken by messages on ${tried}, so they wait for their timers: ${said}`,
    'give the user +subscribe, +publish and the channels of docs/operate/acl.md',
  );
}
