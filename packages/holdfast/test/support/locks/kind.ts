/** What `lock` and `mutex` share, and how each looks from outside: to Redis, to another library, on the wire. */
import { createHash } from 'node:crypto';
import type { AcquireOptions, Lease, Locks, TryAcquireOptions } from '../../../src/index.ts';
import {
  lockAcquire,
  lockRelease,
  lockRenew,
  mutexAcquire,
  mutexRelease,
  mutexRenew,
} from '../../../src/scripts/generated.ts';
import { type Match, script } from '../proxies/fault-proxy.ts';
import { handled } from '../rejection.ts';
import { ask } from '../servers/raw-redis.ts';

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

/** Where a key is: a server by its port, or whatever sends a command to the servers that have it. */
export type Target = number | ((...args: string[]) => Promise<unknown>);

export interface Kind {
  readonly name: 'lock' | 'mutex';
  of(locks: Locks, name: string): AnyLock;
  /** Where a release is published. */
  channel(key: string): string;
  /** Requests of its scripts, for one name or for many. */
  readonly acquires: Match;
  readonly releases: Match;
  readonly renews: Match;
  /** An owner as another library writes it. */
  readonly foreignOwner: string;
  /** Takes a free key for the foreign owner, who never shows a sign of life. Gives that owner. */
  seize(target: Target, key: string, ttlMs: number): Promise<string>;
  /** Who owns the key now, or null. */
  owner(target: Target, key: string): Promise<string | null>;
  /** That owner as `inspect` and `forceRelease` show it: the value of a mutex is a secret. */
  shown(owner: string | null): string;
}

function send(target: Target, ...args: string[]): Promise<unknown> {
  return typeof target === 'number' ? ask(target, args) : target(...args);
}

/** Redisson's rule, written down once more: what is under test must not check itself. */
function tagged(prefix: string, key: string): string {
  return key.includes('{') ? `${prefix}:${key}` : `${prefix}:{${key}}`;
}

export function fenceCounter(key: string): string {
  return tagged('redisson_lock_token', key);
}

/** The line of waiters, which no two keys share. */
export function lineOf(key: string): string {
  return key.includes('{') ? `holdfast_line::${key}` : tagged('holdfast_line', key);
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
  acquires: script(lockAcquire.text),
  releases: script(lockRelease.text),
  renews: script(lockRenew.text),
  // As Redisson writes it: the session of the Java process and the number of the thread.
  foreignOwner: '00000000-0000-4000-8000-000000000000:1',
  async seize(target, key, ttlMs) {
    await send(target, 'HSET', key, this.foreignOwner, '1');
    await send(target, 'PEXPIRE', key, `${ttlMs}`);
    return this.foreignOwner;
  },
  async owner(target, key) {
    const fields = (await send(target, 'HKEYS', key)) as readonly string[];
    return fields[0] ?? null;
  },
  shown: (owner) => owner ?? '',
};

export const MUTEX: Kind = {
  name: 'mutex',
  of: (locks, name) => handling(locks.mutex(name)),
  channel: (key) => tagged('holdfast_mutex__channel', key),
  acquires: script(mutexAcquire.text),
  releases: script(mutexRelease.text),
  renews: script(mutexRenew.text),
  // As node-redlock writes it, and the Redis documentation.
  foreignOwner: '0123456789abcdef0123456789abcdef',
  async seize(target, key, ttlMs) {
    const reply = await send(target, 'SET', key, this.foreignOwner, 'PX', `${ttlMs}`, 'NX');
    if (reply !== 'OK') throw new Error(`expected ${key} to be free for a foreign owner`);
    return this.foreignOwner;
  },
  owner: async (target, key) => (await send(target, 'GET', key)) as string | null,
  shown: (owner) =>
    createHash('sha1')
      .update(owner ?? '')
      .digest('hex'),
};

export const KINDS: readonly Kind[] = [LOCK, MUTEX];
