/** The facade, `Locks`: chooses the topology, creates the session, and makes locks by name. */

import {
  AdminServers,
  check,
  type Finding,
  type ForceReleaseOptions,
  forceRelease,
  type Inspection,
  type InspectOptions,
  inspect,
  type ListOptions,
  list,
  SessionRecordWriter,
  shownOwner,
} from './admin/index.ts';
import type { RedisClient } from './clients/redis-client.ts';
import { checkName, checkSlots } from './keys/name.ts';
import { Session } from './locking/session.ts';
import { checkKnown, checkObject, finiteFromZero, nonEmptyString, ofType } from './options/checks.ts';
import { type LocksOptions, resolveLocksOptions } from './options/options.ts';
import { Lock } from './primitives/lock/lock.ts';
import { LockProtocol } from './primitives/lock/protocol.ts';
import { Mutex } from './primitives/mutex/mutex.ts';
import { MutexProtocol } from './primitives/mutex/protocol.ts';
import { type Once, onceOf } from './primitives/once/once.ts';
import { type Facts, inspectable } from './runtime/inspectable.ts';
import { TimerQueue } from './runtime/timer-queue.ts';
import { topologyOf } from './topologies/choose.ts';

export interface CloseOptions {
  /** How long owners may finish before their locks are taken away. @default 0 */
  readonly graceMs?: number;
}

const INSPECT_OPTIONS = new Set(['record']);
const LIST_OPTIONS = new Set(['prefix', 'all', 'record']);
const FORCE_RELEASE_OPTIONS = new Set(['owner']);
const CLOSE_OPTIONS = new Set(['graceMs']);

/**
 * Makes locks by name. Create one for each Redis, for the life of the process.
 *
 * holdfast copies the settings of the client and opens its own connections when they are first needed. The client
 * itself is not used for commands, and never closed.
 */
export class Locks {
  static {
    inspectable(this, 'Locks', (locks) => (#session in locks ? locks.#facts : null));
  }

  readonly #session: Session;
  readonly #servers: AdminServers;
  readonly #keyPrefix: string;
  readonly #hasShards: boolean;
  /**
   * Runs a body once for all callers of a key, in all processes, and returns its stored result to all of them. Not on a
   * quorum. What it promises, and what not: docs/guide/once.md
   */
  readonly once: Once;

  /** One client: its server decides who has a lock. Several clients, of independent servers: a majority decides. */
  constructor(clients: RedisClient | readonly RedisClient[], options: LocksOptions = {}) {
    const resolved = resolveLocksOptions(options);
    const timers = new TimerQueue(resolved.clock);
    const topology = topologyOf(clients, timers, resolved);
    const id = resolved.random.uuid();
    const { application, callTimeoutMs } = resolved;
    const record =
      application === undefined
        ? null
        : new SessionRecordWriter(timers, topology, { session: id, application, callTimeoutMs });
    this.#session = new Session({ id, topology, timers, options: resolved, record });
    this.#hasShards = topology.shards !== undefined;
    this.#keyPrefix = topology.keyPrefix + resolved.prefix;
    this.#servers = new AdminServers(topology, resolved.callTimeoutMs, this.#keyPrefix);
    this.once = onceOf(this.#session, (name) => this.#keyOf(name));
  }

  /** The UUID of this session: the first part of the owner of every `lock` that it holds. */
  get session(): string {
    return this.#session.id;
  }

  /**
   * A re-entrant lock with fences (fencing tokens), compatible with Redisson's `RLock` and `RFencedLock`. Costs nothing
   * until it is acquired.
   */
  lock(name: string): Lock {
    const key = this.#keyOf(name);
    return new Lock(this.#session, new LockProtocol(name, key, this.#session.options.fenceTtlMs));
  }

  /** A plain mutex: a string key with a random value, the format of node-redlock and of the Redis documentation. */
  mutex(name: string): Mutex {
    const key = this.#keyOf(name);
    return new Mutex(this.#session, new MutexProtocol(name, key));
  }

  /** Resolves to who holds the name, for how long, and who waits; `null` when nobody holds it or waits for it. */
  async inspect(name: string, options: InspectOptions = {}): Promise<Inspection | null> {
    this.#session.assertOpen(name);
    this.#keyOf(name);
    checkObject(options, 'the options of inspect');
    checkKnown(options, INSPECT_OPTIONS, 'an option of inspect');
    const { record = false } = options;
    return inspect(this.#servers, name, ofType(record, 'record', 'boolean'));
  }

  /** Iterates over the locks and mutexes that are held, in no order. Locks that change meanwhile may be missed. */
  async *list(options: ListOptions = {}): AsyncGenerator<Inspection, void, undefined> {
    this.#session.assertOpen();
    checkObject(options, 'the options of list');
    checkKnown(options, LIST_OPTIONS, 'an option of list');
    const { prefix = '', all = false, record = false } = options;
    yield* list(this.#servers, {
      prefix: ofType(prefix, 'prefix', 'string'),
      all: ofType(all, 'all', 'boolean'),
      record: ofType(record, 'record', 'boolean'),
    });
  }

  /**
   * Takes a lock or a mutex away from `owner`, or from whoever holds it, in this process or elsewhere. The next in line
   * gets it in the same step. Resolves to the owner that lost it, or `null` when nobody held it. Rejects with
   * `LockNotHeldError` when another owner than `owner` holds it. An owner in another process is notified at its next
   * renewal at the latest.
   */
  async forceRelease(name: string, options: ForceReleaseOptions = {}): Promise<string | null> {
    this.#session.assertOpen(name);
    const key = this.#keyOf(name);
    checkObject(options, 'the options of forceRelease');
    checkKnown(options, FORCE_RELEASE_OPTIONS, 'an option of forceRelease');
    const { owner } = options;
    const lost = await forceRelease(
      this.#servers,
      name,
      owner === undefined ? '' : nonEmptyString(owner, 'owner'),
    );
    // An owner in this process is notified now, not at its next renewal.
    for (const hold of this.#session.holdsOf(key)) {
      if (shownOwner(hold.protocol.kind, hold.holder) === lost) hold.lose('revoked');
    }
    return lost;
  }

  /** Checks the server for settings that can break a promise. Call it at start-up. An empty list is good. */
  async check(): Promise<Finding[]> {
    this.#session.assertOpen();
    return check(this.#servers);
  }

  /**
   * Stops granting, lets owners finish for `graceMs`, releases what is still held, then resolves. Waiters get
   * `LockClosedError`. Owners that did not finish lose their lease. The caller's client stays open.
   */
  async close(options: CloseOptions = {}): Promise<void> {
    checkObject(options, 'the options of close');
    checkKnown(options, CLOSE_OPTIONS, 'an option of close');
    const { graceMs = 0 } = options;
    return this.#session.close(finiteFromZero(graceMs, 'graceMs'));
  }

  /** Drops everything now, without releasing: locks expire on the server. The caller's client stays open. */
  async destroy(): Promise<void> {
    return this.#session.destroy();
  }

  /** Throws when the name is not allowed, in general or in a cluster. */
  #keyOf(name: string): string {
    const key = this.#keyPrefix + checkName(name);
    if (this.#hasShards) checkSlots(name, key);
    return key;
  }

  /** For `console.log`. Without the settings of the client, which contain secrets. */
  get #facts(): Facts {
    const { id, state, holds, topology } = this.#session;
    const prefix = this.#keyPrefix === '' ? undefined : this.#keyPrefix;
    return { session: id, state, held: holds, servers: topology.description, prefix };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
