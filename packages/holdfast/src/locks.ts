/**
 * The facade, `Locks`: chooses the topology, creates the session, and makes locks by name.
 *
 * In this folder: the facade, the errors that all layers throw, and the public exports (`index.ts`). Each layer has a
 * folder below. The layers import only `errors.ts` from here.
 */

import {
  AdminServers,
  check,
  type Finding,
  type ForceReleaseOptions,
  forceRelease,
  type Inspection,
  type InspectOptions,
  inspect,
  inspectLeader,
  type JobsOptions,
  jobs,
  type ListOptions,
  list,
  REASON_LENGTH_MAX,
  readSessionRecords,
  type SessionRecord,
  SessionRecordWriter,
  shownOwner,
} from './admin/index.ts';
import type { RedisClient } from './clients/redis-client.ts';
import { leaderKey } from './keys/derived.ts';
import { checkName, checkSlots } from './keys/name.ts';
import { Session } from './locking/session.ts';
import {
  checkKnown,
  checkObject,
  finiteFromZero,
  nonEmptyString,
  nonEmptyStrings,
  ofType,
  textUpTo,
} from './options/checks.ts';
import { type LocksOptions, resolveLocksOptions } from './options/options.ts';
import { type Leader, type LeaderOptions, leaderOf } from './primitives/leader/index.ts';
import { type Lock, lockOf } from './primitives/lock/lock.ts';
import { type Mutex, mutexOf } from './primitives/mutex/mutex.ts';
import { type Once, onceOf } from './primitives/once/once.ts';
import {
  type JobBody,
  type JobInfo,
  runOnce,
  type Schedule,
  type ScheduleOptions,
  type SingleRun,
  type SingleRunOptions,
  startSchedule,
} from './primitives/schedule/index.ts';
import { type Facts, inspectable } from './runtime/inspectable.ts';
import { TimerQueue } from './runtime/timer-queue.ts';
import { topologyOf } from './topologies/choose.ts';

export interface CloseOptions {
  /** How long owners may finish before their locks are taken away. @default 0 */
  readonly graceMs?: number;
}

const INSPECT_OPTIONS = new Set(['record']);
const LIST_OPTIONS = new Set(['prefix', 'all', 'record']);
const FORCE_RELEASE_OPTIONS = new Set(['owner', 'reason']);
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
      application === false
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
    return lockOf(this.#session, name, key);
  }

  /** A plain mutex: a string key with a random value, the format of node-redlock and of the Redis documentation. */
  mutex(name: string): Mutex {
    const key = this.#keyOf(name);
    return mutexOf(this.#session, name, key);
  }

  /**
   * Elects one leader among all processes. `leader.run(body)` campaigns, runs the body while this process leads, and
   * campaigns again. The body is told to end before another process can lead. Works on every topology.
   */
  leader(name: string, options: LeaderOptions = {}): Leader {
    this.#session.assertOpen(name);
    const key = leaderKey(this.#keyOf(name));
    const look = () => inspectLeader(this.#servers, key, this.#session.id);
    return leaderOf(this.#session, { name, key }, options, look);
  }

  /**
   * Runs the body at each slot of a schedule, on one of all processes that have this schedule: at most one start for each
   * slot and attempt, by the server's clock, and never early. Runs until `stop` or `close`, and keeps the process alive.
   * Refused on a quorum.
   */
  schedule(name: string, options: ScheduleOptions, body: JobBody): Schedule {
    this.#session.assertOpen(name);
    return startSchedule(this.#session, { name, key: this.#keyOf(name) }, options, body);
  }

  /**
   * Runs a job once, for programs that something else starts. With `cron` or `everyMs`: for the present slot, unless the
   * slot has had its run. Without: now, outside of the schedule, under the job's lock. Refused on a quorum.
   */
  async runJob(name: string, body: JobBody, options: SingleRunOptions = {}): Promise<SingleRun> {
    this.#session.assertOpen(name);
    return runOnce(this.#session, { name, key: this.#keyOf(name) }, options, body);
  }

  /** Iterates over the jobs that the server knows: the last run of each, and its next slot. In no order. */
  async *jobs(options: JobsOptions = {}): AsyncGenerator<JobInfo, void, undefined> {
    this.#session.assertOpen();
    yield* jobs(this.#servers, options);
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
   * Who sessions are: application, host and process of those that have a record. A session is the first part of an owner
   * that `inspect` shows. One call for each session.
   */
  async records(sessions: readonly string[]): Promise<ReadonlyMap<string, SessionRecord>> {
    this.#session.assertOpen();
    const asked = new Set(nonEmptyStrings(sessions, 'sessions'));
    return readSessionRecords([...asked], (call) => this.#servers.query(call));
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
    const { owner, reason = '' } = options;
    const words = textUpTo(reason, 'reason', REASON_LENGTH_MAX);
    const lost = await forceRelease(
      this.#servers,
      name,
      owner === undefined ? '' : nonEmptyString(owner, 'owner'),
      words,
    );
    // An owner in this process is notified now, not at its next renewal.
    for (const hold of this.#session.holdsOf(key)) {
      if (shownOwner(hold.protocol.kind, hold.holder) !== lost) continue;
      hold.takenFor = words;
      hold.lose('revoked');
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
   * `LockClosedError`. Owners that did not finish lose their lease. The body of a job or of `once` is told by its signal
   * then, and has 10 s more; that of a leader is told at once and has the leader's own `graceMs`. The lock of a body that does
   * not end is left to its lease. The caller's client stays open.
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
