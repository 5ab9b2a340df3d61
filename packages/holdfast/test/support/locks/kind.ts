/** What `lock` and `mutex` share, and how each looks from outside: to Redis, and to another library. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { AcquireOptions, FencedLease, Lease, Locks, TryAcquireOptions } from '../../../src/index.ts';

/** A lock or a mutex. */
export interface AnyLock {
  readonly name: string;
  tryAcquire(options?: TryAcquireOptions): Promise<Lease | null>;
  acquire(options?: AcquireOptions): Promise<Lease>;
  using<Result>(
    body: (lease: Lease) => Result | PromiseLike<Result>,
    options?: AcquireOptions,
  ): Promise<Result>;
}

export interface Kind {
  readonly name: 'lock' | 'mutex';
  of(locks: Locks, name: string): AnyLock;
  /** Where a release is told. */
  channel(key: string): string;
  /** Takes the key as another library does, if it is free. Gives the owner. */
  seize(redis: Redis, key: string, ttlMs: number): Promise<string>;
  /** Who owns the key now, or null. */
  owner(redis: Redis, key: string): Promise<string | null>;
  /** That owner as `inspect` shows it: the value of a mutex is a secret. */
  shown(owner: string | null): string;
}

/** Redisson's rule, written down once more: what is under test must not check itself. */
function tagged(prefix: string, key: string): string {
  return key.includes('{') ? `${prefix}:${key}` : `${prefix}:{${key}}`;
}

export function fenceCounter(key: string): string {
  return tagged('redisson_lock_token', key);
}

export function fenceOf(lease: Lease): number {
  return (lease as FencedLease).fence;
}

/** A rule that fails half-way leaves promises that nobody awaits; their rejections are not another failure. */
export function handled<Result>(promise: Promise<Result>): Promise<Result> {
  promise.catch(() => {});
  return promise;
}

function handling(lock: AnyLock): AnyLock {
  return {
    name: lock.name,
    tryAcquire: (options) => handled(lock.tryAcquire(options)),
    acquire: (options) => handled(lock.acquire(options)),
    using: (body, options) => handled(lock.using(body, options)),
  };
}

export const LOCK: Kind = {
  name: 'lock',
  of: (locks, name) => handling(locks.lock(name)),
  channel: (key) => tagged('redisson_lock__channel', key),
  async seize(redis, key, ttlMs) {
    // As Redisson does it: the session of the Java process and the number of the thread.
    const owner = `${randomUUID()}:1`;
    await redis.multi().hset(key, owner, 1).pexpire(key, ttlMs).exec();
    return owner;
  },
  owner: async (redis, key) => (await redis.hkeys(key))[0] ?? null,
  shown: (owner) => owner ?? '',
};

export const MUTEX: Kind = {
  name: 'mutex',
  of: (locks, name) => handling(locks.mutex(name)),
  channel: (key) => tagged('holdfast_mutex__channel', key),
  async seize(redis, key, ttlMs) {
    // As node-redlock does it, and the Redis documentation.
    const token = randomBytes(16).toString('hex');
    await redis.set(key, token, 'PX', ttlMs, 'NX');
    return token;
  },
  owner: (redis, key) => redis.get(key),
  shown: (owner) =>
    createHash('sha1')
      .update(owner ?? '')
      .digest('hex'),
};

export const KINDS: readonly Kind[] = [LOCK, MUTEX];
