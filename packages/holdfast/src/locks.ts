/** The facade: one per Redis, for the life of the process. */

import { type Finding, type Inspection, Inspector } from './admin/inspection.ts';
import { SessionRecord } from './admin/session-record.ts';
import type { RedisClient } from './clients/redis-client.ts';
import { checkName, checkSlots } from './keys/name.ts';
import { Session } from './locking/session.ts';
import { checkKnown, checkObject, finiteFromZero, nonEmptyString, ofType } from './options/checks.ts';
import { type LocksOptions, resolveLocksOptions } from './options/options.ts';
import { Lock } from './primitives/lock/lock.ts';
import { LockProtocol } from './primitives/lock/lock-protocol.ts';
import { Mutex } from './primitives/mutex/mutex.ts';
import { MutexProtocol } from './primitives/mutex/mutex-protocol.ts';
import { type Facts, inspectable } from './runtime/inspectable.ts';
import { TimerQueue } from './runtime/timer-queue.ts';
import { topologyOf } from './topologies/choose.ts';

export interface CloseOptions {
  /** How long owners may finish before what they hold is taken from them. @default 0 */
  readonly graceMs?: number;
}

export interface ListOptions {
  /** Only names that begin so. @default '' */
  readonly prefix?: string;
  /**
   * Also strings with an expiry that may be a mutex of another library: their value looks random. A cached value
   * may look so too. @default false
   */
  readonly all?: boolean;
}

export interface ForceReleaseOptions {
  /** Only from this owner, as `inspect` and `list` show it. @default whoever holds it */
  readonly owner?: string;
}

const LIST_OPTIONS = new Set(['prefix', 'all']);
const FORCE_RELEASE_OPTIONS = new Set(['owner']);
const CLOSE_OPTIONS = new Set(['graceMs']);

export class Locks {
  static {
    inspectable(this, 'Locks', (locks) => (#session in locks ? locks.#facts : null));
  }

  readonly #session: Session;
  readonly #inspector: Inspector;
  readonly #keyPrefix: string;
  readonly #hasShards: boolean;

  /** One client: its server decides. Several, of independent servers: a majority of them does. */
  constructor(clients: RedisClient | readonly RedisClient[], options: LocksOptions = {}) {
    const resolved = resolveLocksOptions(options);
    const timers = new TimerQueue(resolved.clock);
    const topology = topologyOf(clients, timers, resolved);
    const id = resolved.random.uuid();
    const { application, callTimeoutMs } = resolved;
    const record =
      application === undefined
        ? null
        : new SessionRecord(timers, topology, { session: id, application, callTimeoutMs });
    this.#session = new Session({ id, topology, timers, options: resolved, record });
    this.#hasShards = topology.shards !== undefined;
    this.#keyPrefix = topology.keyPrefix + resolved.prefix;
    this.#inspector = new Inspector(this.#session, this.#keyPrefix);
  }

  /** This session's UUID: the first part of the owner of every lock it holds. */
  get session(): string {
    return this.#session.id;
  }

  /** A re-entrant lock with fences, Redisson's `RLock` and `RFencedLock`. Costs nothing until it is acquired. */
  lock(name: string): Lock {
    const key = this.#keyOf(name);
    return new Lock(this.#session, new LockProtocol(name, key, this.#session.options.fenceTtlMs));
  }

  /** A plain mutex: a string key with a random token, as node-redlock and the Redis documentation have it. */
  mutex(name: string): Mutex {
    const key = this.#keyOf(name);
    return new Mutex(this.#session, new MutexProtocol(name, key));
  }

  /** Who holds that name, for how long; `null` when nobody does. */
  async inspect(name: string): Promise<Inspection | null> {
    this.#session.assertOpen(name);
    this.#keyOf(name);
    return this.#inspector.inspect(name);
  }

  /** Walks over the locks and mutexes that are held, in no order. What changes meanwhile may be missed. */
  async *list(options: ListOptions = {}): AsyncGenerator<Inspection, void, undefined> {
    this.#session.assertOpen();
    checkObject(options, 'the options of list');
    checkKnown(options, LIST_OPTIONS, 'an option of list');
    const { prefix = '', all = false } = options;
    yield* this.#inspector.list(ofType(prefix, 'prefix', 'string'), ofType(all, 'all', 'boolean'));
  }

  /**
   * Takes a lock or a mutex away from `owner`, or from whoever holds it, here or elsewhere, and wakes the waiters.
   * Resolves to the owner that lost it, or `null` when nobody held it; rejects with `LockNotHeldError` when another
   * owner than `owner` holds it. An owner in another process hears of it at its next renewal.
   */
  async forceRelease(name: string, options: ForceReleaseOptions = {}): Promise<string | null> {
    this.#session.assertOpen(name);
    this.#keyOf(name);
    checkObject(options, 'the options of forceRelease');
    checkKnown(options, FORCE_RELEASE_OPTIONS, 'an option of forceRelease');
    const { owner } = options;
    return this.#inspector.forceRelease(name, owner === undefined ? '' : nonEmptyString(owner, 'owner'));
  }

  /** Looks for settings of the server that can break a promise of ours. For start-up; an empty list is good. */
  async check(): Promise<Finding[]> {
    this.#session.assertOpen();
    return this.#inspector.check();
  }

  /**
   * Stops granting, lets owners finish for `graceMs`, releases what is still held, then resolves. Waiters reject
   * with `LockClosedError`; owners that did not finish find their lease lost. The caller's client stays open.
   */
  async close(options: CloseOptions = {}): Promise<void> {
    checkObject(options, 'the options of close');
    checkKnown(options, CLOSE_OPTIONS, 'an option of close');
    const { graceMs = 0 } = options;
    return this.#session.close(finiteFromZero(graceMs, 'graceMs'));
  }

  /** Drops everything now and lets leases on the server run out. The caller's client stays open. */
  async destroy(): Promise<void> {
    return this.#session.destroy();
  }

  /** Throws when no lock can have that name here. */
  #keyOf(name: string): string {
    const key = this.#keyPrefix + checkName(name);
    if (this.#hasShards) checkSlots(name, key);
    return key;
  }

  /** For `console.log`. Without the settings of the client, which have secrets. */
  get #facts(): Facts {
    const { id, state, holds, topology } = this.#session;
    const prefix = this.#keyPrefix === '' ? undefined : this.#keyPrefix;
    return { session: id, state, held: holds, servers: topology.description, prefix };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
