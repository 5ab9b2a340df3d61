/** Takes a lock and a mutex and lets them go, on one server, as a program would; and listens and speaks on its channel. */
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
/** Nobody else wants the name. Within this a slow server is slow, which is told as latency, and not unable to lock. */
const WAIT_MS = 5_000;
/** A waiter subscribes within a few round trips, and is woken within one. Without a message it looks after seconds. */
const LOOKS_MAX = 40;
const LOOK_EVERY_MS = 25;
const WOKEN_MS_MAX = 1_500;

export async function tryLocking({ redis }: Server, prefix: string): Promise<Verdict[]> {
  const name = `holdfast-doctor-${randomUUID()}`;
  return [await tryScripts(redis, prefix, name), await tryMessages(redis, prefix + name)];
}

/** As `tryLocking`, on a cluster: a second session waits, and is to be woken. */
export async function tryCluster(cluster: Cluster, prefix: string): Promise<Verdict[]> {
  const name = `holdfast-doctor-${randomUUID()}`;
  const scripts = await tryScripts(cluster, prefix, name);
  return scripts.level === 'ok' ? [scripts, await tryWaking(cluster, prefix, name)] : [scripts];
}

async function tryWaking(cluster: Cluster, prefix: string, name: string): Promise<Verdict> {
  const options = { prefix, fenceTtlMs: FENCE_TTL_MS };
  const [owner, waiter] = [new Locks(cluster, options), new Locks(cluster, options)];
  try {
    const lease = await owner.lock(name).acquire({ leaseMs: LEASE_MS, waitMs: WAIT_MS });
    const waiting = waiter.lock(name).acquire({ leaseMs: LEASE_MS, waitMs: LEASE_MS });
    const isListening = async (): Promise<boolean> => {
      const found = await owner.inspect(name);
      return found !== null && found.kind !== 'other' && found.waiters > 0;
    };
    for (let look = 0; look < LOOKS_MAX && !(await isListening()); look += 1) await sleep(LOOK_EVERY_MS);
    const releasedMs = performance.now();
    await lease.release();
    await waiting;
    if (performance.now() - releasedMs < WOKEN_MS_MAX)
      return ok('messages', 'waiters can be woken by messages');
    return warning(
      'messages',
      'a waiter was not woken by a message: it waited for its timer',
      'give the user the rights for a cluster of docs/operate/acl.md',
    );
  } catch (error) {
    const said = oneLine(error instanceof Error ? error.message : String(error));
    return warning(
      'messages',
      `whether waiters are woken could not be seen: ${said}`,
      'run the doctor again',
    );
  } finally {
    await Promise.all([owner.close(), waiter.close()]);
  }
}

async function tryScripts(redis: Redis | Cluster, prefix: string, name: string): Promise<Verdict> {
  const locks = new Locks(redis, { prefix, fenceTtlMs: FENCE_TTL_MS });
  // They need different rights: only a mutex is deleted as a key.
  let kind: 'lock' | 'mutex' = 'lock';
  try {
    for (kind of ['lock', 'mutex'] as const) {
      const lease = await locks[kind](name).acquire({ leaseMs: LEASE_MS, waitMs: WAIT_MS });
      await lease.extend(LEASE_MS);
      await lease.release();
    }
    return ok('scripts', 'a lock and a mutex can be taken, renewed and released');
  } catch (error) {
    const said = oneLine(error instanceof Error ? error.message : String(error));
    const advice = `give the user the rights of docs/operate/acl.md, for keys that begin with ${JSON.stringify(prefix)}`;
    return problem('scripts', `a ${kind} cannot be taken and released: ${said}`, advice);
  } finally {
    await locks.close();
  }
}

async function tryMessages(redis: Redis, key: string): Promise<Verdict> {
  // Where a name has a brace, Redisson takes the tag of the name, and so does the library.
  const channel = key.includes('{') ? `redisson_lock__channel:${key}` : `redisson_lock__channel:{${key}}`;
  const listener = redis.duplicate({ lazyConnect: true });
  listener.on('error', () => {});
  const said = await (async () => {
    await listener.connect();
    await listener.subscribe(channel);
    await redis.publish(channel, '0');
  })().then(
    () => null,
    (error: unknown) => oneLine(error instanceof Error ? error.message : String(error)),
  );
  listener.disconnect();
  if (said === null) return ok('messages', 'waiters can be woken by messages');
  return warning(
    'messages',
    `waiters cannot be woken by messages, so they wait for their timers: ${said}`,
    'give the user +subscribe, +publish and the channels redisson_lock__channel:* and holdfast_mutex__channel:*',
  );
}
