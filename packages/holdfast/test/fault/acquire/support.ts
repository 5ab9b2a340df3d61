/** What the fault tests of acquiring, waiting, servers and the API share: clients, sessions, proxies, a look at keys. */
import { createHash } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterEach } from 'vitest';
import { Locks, type LocksOptions, type RedisClient } from '../../../src/index.ts';
import type { Lock } from '../../../src/primitives/lock/lock.ts';
import type { Mutex } from '../../../src/primitives/mutex/mutex.ts';
import {
  lockAcquire,
  lockRelease,
  lockRenew,
  mutexAcquire,
  mutexRelease,
  mutexRenew,
} from '../../../src/scripts/generated.ts';
import { type Extent, rowsOf } from '../../support/extent.ts';
import { type FaultProxy, type Match, script, startProxy } from '../../support/proxies/fault-proxy.ts';
import { ask, askAll, asStrings } from '../../support/servers/raw-redis.ts';
import { waitFor } from '../../support/wait-for.ts';

export type ClientKind = 'ioredis' | 'node-redis';

/** One kind of lock: how to get one, which scripts it sends, what it leaves in Redis. */
export interface Subject {
  readonly kind: 'lock' | 'mutex';
  readonly acquires: Match;
  readonly releases: Match;
  readonly renews: Match;
  of(locks: Locks, name: string): Lock | Mutex;
  channel(key: string): string;
  /** Takes the key for an owner that is not of this process and never shows a sign of life. */
  take(port: number, key: string, ttlMs: number): Promise<void>;
  /** That owner, as looks at the lock and its release by force show it. */
  readonly foreignOwner: string;
}

/** Where a test is not about it: longer than a busy machine takes for a first connection. */
const CALL_TIMEOUT_MS = 5_000;

export const FOREIGN_OWNER = '00000000-0000-4000-8000-000000000000:1';

export const LOCK: Subject = {
  kind: 'lock',
  acquires: script(lockAcquire.text),
  releases: script(lockRelease.text),
  renews: script(lockRenew.text),
  of: (locks, name) => locks.lock(name),
  channel: (key) => `redisson_lock__channel:{${key}}`,
  take: async (port, key, ttlMs) => {
    await askAll(port, [
      ['HSET', key, FOREIGN_OWNER, '1'],
      ['PEXPIRE', key, `${ttlMs}`],
    ]);
  },
  foreignOwner: FOREIGN_OWNER,
};

export const MUTEX: Subject = {
  kind: 'mutex',
  acquires: script(mutexAcquire.text),
  releases: script(mutexRelease.text),
  renews: script(mutexRenew.text),
  of: (locks, name) => locks.mutex(name),
  channel: (key) => `holdfast_mutex__channel:{${key}}`,
  take: async (port, key, ttlMs) => {
    await ask(port, ['SET', key, FOREIGN_OWNER, 'PX', `${ttlMs}`]);
  },
  foreignOwner: createHash('sha1').update(FOREIGN_OWNER).digest('hex'),
};

export const SUBJECTS: readonly Subject[] = [LOCK, MUTEX];
export const CLIENTS: readonly ClientKind[] = ['ioredis', 'node-redis'];

export interface FaultRow extends Extent {
  readonly client: ClientKind;
  readonly subject: Subject;
}

/**
 * Every client with every kind of lock; `$client` and `$subject.kind` name them in titles. The two crossings are of the
 * matrix only: what a client does to a call does not depend on the script.
 */
export const MATRIX: readonly FaultRow[] = rowsOf<FaultRow>([
  { client: 'ioredis', subject: LOCK },
  { client: 'node-redis', subject: MUTEX },
  { client: 'ioredis', subject: MUTEX, isMatrix: true },
  { client: 'node-redis', subject: LOCK, isMatrix: true },
]);

/** What stands under a name. */
export interface Held {
  readonly owner: string;
  /** How often it is entered; 1 for a mutex. */
  readonly count: number;
  readonly ttlMs: number;
  /** The last fence given out. */
  readonly fence: number;
}

export async function held(port: number, { kind }: Subject, key: string): Promise<Held | null> {
  const read = kind === 'lock' ? ['HGETALL', key] : ['GET', key];
  const [value, ttl, fence] = await askAll(port, [
    read,
    ['PTTL', key],
    ['GET', `redisson_lock_token:{${key}}`],
  ]);
  if (kind === 'mutex') {
    return value === null ? null : { owner: String(value), count: 1, ttlMs: Number(ttl), fence: 0 };
  }
  const [owner, count] = asStrings(value ?? []);
  if (owner === undefined) return null;
  return { owner, count: Number(count), ttlMs: Number(ttl), fence: Number(fence) };
}

/** How many connections listen for the release of a name. */
export async function listeners(port: number, subject: Subject, key: string): Promise<number> {
  const reply = await ask(port, ['PUBSUB', 'NUMSUB', subject.channel(key)]);
  return Number(asStrings(reply)[1]);
}

/**
 * From here the session has its connection, and knows the server's time; the server knows the scripts. Patient,
 * because on a busy machine a first connection can take longer than the time limits that a test is about.
 */
export async function warmUp(locks: Locks, subject: Subject, name = 'warm-up'): Promise<void> {
  await waitFor(async () => (await subject.of(locks, name).acquire()).release(), {
    limitMs: 20_000,
    what: 'a first acquisition and release',
  });
}

/** Resolves when a caller of that session, behind that proxy, waits for the name and its attempts are answered. */
export async function asleep(locks: Locks, proxy: FaultProxy, subject: Subject, name: string): Promise<void> {
  const attempts = (): number =>
    proxy.history.filter(subject.acquires).filter((args) => args.includes(name)).length;
  await waitFor(() => attempts() >= 2, { limitMs: 20_000, what: 'the attempt behind the subscription' });
  // Sent behind it on the same connection, so answered behind it.
  await locks.inspect(name);
}

export interface SessionOptions extends LocksOptions {
  readonly client?: ClientKind;
  readonly db?: number;
  readonly username?: string;
  readonly password?: string;
}

/** Makes what a test needs and takes it down after it. Leases are left where they are, so that a leak shows. */
export class Bench {
  #cleanUps: (() => Promise<void> | void)[] = [];
  #names = 0;

  /** A name that no other test of the file uses. */
  name(): string {
    this.#names += 1;
    return `name-${this.#names}`;
  }

  async proxy(targetPort: number): Promise<FaultProxy> {
    const proxy = await startProxy(targetPort);
    this.#cleanUps.push(() => proxy.stop());
    return proxy;
  }

  /** A session of its own, as another process would have. */
  async session(port: number, options: SessionOptions = {}): Promise<Locks> {
    const { client: kind = 'ioredis', db, username, password, ...rest } = options;
    const login = { ...(username && { username }), ...(password && { password }) };
    const client =
      kind === 'ioredis'
        ? this.#ioredis(port, { ...login, ...(db !== undefined && { db }) })
        : this.#nodeRedis(port, { ...login, ...(db !== undefined && { database: db }) });
    const locks = new Locks(client, { callTimeoutMs: CALL_TIMEOUT_MS, ...rest });
    this.#cleanUps.push(() => locks.destroy());
    return locks;
  }

  /** Everything published on a channel from now to the end of the test. */
  hear<Message>(channel: string): readonly Message[] {
    const messages: Message[] = [];
    const listen = (message: unknown): void => {
      // What a channel carries is agreed with its publisher, not checked here.
      messages.push(message as Message);
    };
    subscribe(channel, listen);
    this.#cleanUps.push(() => void unsubscribe(channel, listen));
    return messages;
  }

  onEnd(cleanUp: () => Promise<void> | void): void {
    this.#cleanUps.push(cleanUp);
  }

  async end(): Promise<void> {
    // Sessions before the clients and proxies they were made with.
    for (const cleanUp of this.#cleanUps.splice(0).reverse()) await cleanUp();
  }

  /** Never connected itself: our own connections are the only ones. */
  #ioredis(port: number, options: object): RedisClient {
    const client = new Redis({ port, host: '127.0.0.1', lazyConnect: true, ...options });
    client.on('error', () => {});
    this.#cleanUps.push(() => client.disconnect());
    return client;
  }

  #nodeRedis(port: number, options: object): RedisClient {
    const client = createClient({ socket: { host: '127.0.0.1', port }, ...options });
    client.on('error', () => {});
    this.#cleanUps.push(() => {
      if (client.isOpen) client.destroy();
    });
    return client;
  }
}

/** Call it after `useLeakCheck`, whose check must come after everything is taken down. */
export function useBench(): Bench {
  const bench = new Bench();
  afterEach(() => bench.end());
  return bench;
}

/** What a promise rejects with; one that resolves is an error. */
export function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => Promise.reject(new Error(`expected a rejection, got ${JSON.stringify(value)}`)),
    (error: unknown) => error,
  );
}

/** Settled by now: nothing from the network can come within a turn of the event loop that has not come yet. */
export function atOnce(promise: Promise<unknown>): Promise<unknown> {
  return Promise.race([promise, nextTurn('still pending')]);
}

/** Numbers from 0 to below 1, the same for the same seed: a run that fails can be run again. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
