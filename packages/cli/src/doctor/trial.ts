/** Takes a lock and lets it go, on one server, as a program would; and listens and speaks on its channel. */
import { randomUUID } from 'node:crypto';
import { Locks } from 'holdfast';
import type { Redis } from 'ioredis';
import { oneLine } from '../failure.ts';
import type { Server } from '../servers/connection.ts';
import { ok, problem, type Verdict, warning } from './finding.ts';

/** The counter of the trial's fences need not outlive it. */
const FENCE_TTL_MS = 60_000;
const LEASE_MS = 10_000;

export async function tryLocking({ redis }: Server, prefix: string): Promise<Verdict[]> {
  const name = `holdfast-doctor-${randomUUID()}`;
  return [await tryScripts(redis, prefix, name), await tryMessages(redis, prefix + name)];
}

async function tryScripts(redis: Redis, prefix: string, name: string): Promise<Verdict> {
  const locks = new Locks(redis, { prefix, fenceTtlMs: FENCE_TTL_MS });
  try {
    const lease = await locks.lock(name).acquire({ leaseMs: LEASE_MS, waitMs: 0 });
    await lease.extend(LEASE_MS);
    await lease.release();
    return ok('scripts', 'a lock can be taken, renewed and released');
  } catch (error) {
    const said = oneLine(error instanceof Error ? error.message : String(error));
    const advice = `give the user the rights on the keys page of the documentation, for keys that begin with ${JSON.stringify(prefix)}`;
    return problem('scripts', `a lock cannot be taken and released: ${said}`, advice);
  } finally {
    await locks.close();
  }
}

async function tryMessages(redis: Redis, key: string): Promise<Verdict> {
  const channel = `redisson_lock__channel:{${key}}`;
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
