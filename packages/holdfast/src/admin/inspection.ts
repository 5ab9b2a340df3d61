/** Looking at locks from outside, and taking one away: what operators need at three in the morning. */
import { CallFailure, type Reply } from '../clients/client.ts';
import {
  LockConflictError,
  LockNotHeldError,
  LockUnavailableError,
  LockUnknownError,
  type ServerFailure,
} from '../errors.ts';
import { fenceKey, lockChannel, mutexChannel, NAME_BYTES_MAX, sharesSlot } from '../keys/name.ts';
import { describeServers } from '../locking/failures.ts';
import type { Session } from '../locking/session.ts';
import { describe } from '../runtime/describe.ts';
import { printable, quote } from '../runtime/printable.ts';
import {
  type AdminForceReleaseOutcome,
  adminForceRelease,
  adminHealth,
  adminInspect,
  adminScan,
} from '../scripts/generated.ts';
import { read } from '../topologies/server/reading.ts';
import type { QueryCall, Walk } from '../topologies/topology.ts';
import { agree, mostCommon } from './agreement.ts';
import { shownOwner } from './shown-owner.ts';

export type Inspection =
  | {
      readonly name: string;
      readonly kind: 'lock';
      /** `<session>:<hold number>`, or a Redisson holder. */
      readonly owner: string;
      /** How many times the owner has entered it. */
      readonly holdCount: number;
      /** What the server would wait before it lets it go; -1 when it never will. */
      readonly ttlMs: number;
      /** The end of the block of fences that the owner reserved: no owner so far has a larger one. */
      readonly fence: number | undefined;
      /** How many connections listen for its release: one for each process that waits. */
      readonly waiters: number;
    }
  | {
      readonly name: string;
      readonly kind: 'mutex';
      /** A digest of the owner's token: it tells owners apart, and gives nobody the right to release. */
      readonly owner: string;
      readonly ttlMs: number;
      readonly waiters: number;
    }
  | {
      readonly name: string;
      readonly kind: 'other';
      /** The Redis type of what stands there instead. */
      readonly found: string;
      readonly ttlMs: number;
    };

/** Something about a server that can break a promise of ours. */
export interface Finding {
  readonly code: 'EVICTION' | 'REPLICA' | 'VERSION';
  readonly message: string;
}

/** Keys looked at in one step of a walk. */
const SCAN_COUNT = 500;

/** Names looked into at once while listing. */
const INSPECT_MAX = 64;

/** A lock's owner: a session or a Redisson client, and the number of the hold or thread. */
const OWNER = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+$/;

/** What the walk found by its looks; it may be something else by now. */
function isLock(inspection: Inspection): boolean {
  return inspection.kind === 'lock' ? OWNER.test(inspection.owner) : inspection.kind === 'mutex';
}

function escapeGlob(text: string): string {
  return text.replace(/[\\*?[\]^-]/g, '\\$&');
}

function inspectionOf(name: string, reply: Reply): Inspection | null {
  const found = adminInspect.decode(reply);
  switch (found.is) {
    case 'ABSENT':
      return null;
    case 'LOCK': {
      const { owner, ttlMs, waiters } = found;
      const fence = found.fence === '' ? undefined : Number(found.fence);
      return { name, kind: 'lock', owner, holdCount: Number(found.count), ttlMs, fence, waiters };
    }
    case 'MUTEX':
      return { name, kind: 'mutex', owner: found.owner, ttlMs: found.ttlMs, waiters: found.waiters };
    case 'OTHER':
      return { name, kind: 'other', found: found.found, ttlMs: found.ttlMs };
  }
}

interface Answer<Value> {
  readonly index: number;
  readonly server: string;
  readonly value: Value;
}

function isTorn(error: unknown): boolean {
  return (
    error instanceof LockUnavailableError && error.servers.some(({ text }) => text.startsWith('TRYAGAIN'))
  );
}

export class Inspector {
  readonly #session: Session;
  readonly #keyPrefix: string;

  constructor(session: Session, keyPrefix: string) {
    this.#session = session;
    this.#keyPrefix = keyPrefix;
  }

  async inspect(name: string): Promise<Inspection | null> {
    const key = this.#keyPrefix + name;
    const channels = { lockChannel: lockChannel(key), mutexChannel: mutexChannel(key) };
    const askWith = (fence: string): Promise<Answer<Inspection | null>[]> =>
      this.#ask(
        this.#deciding,
        (_, how) => adminInspect.call({ name: key, fence, ...channels, how }),
        (reply) => inspectionOf(name, reply),
        name,
      );
    // While a slot of a cluster moves, a lock and its counter may be at different nodes: then its fence is not known.
    const answers = await askWith(fenceKey(key)).catch((error: unknown) => {
      if (isTorn(error)) return askWith(key);
      throw error;
    });
    return agree(
      answers.map(({ value }) => value),
      this.#session.topology.majority,
    );
  }

  async *list(prefix: string, isAll: boolean): AsyncGenerator<Inspection, void, undefined> {
    const terms = {
      pattern: `${escapeGlob(this.#keyPrefix + prefix)}*`,
      count: SCAN_COUNT,
      keyBytesMax: Buffer.byteLength(this.#keyPrefix) + NAME_BYTES_MAX,
      wantsAll: isAll ? 1 : 0,
    };
    // SCAN may tell a key twice while the table is resized, and every server of several tells it.
    const seen = new Set<string>();
    const cursors = new Map<number, string>();
    const walk = await this.#walk();
    for (let i = 0; i < walk.size; i += 1) cursors.set(i, '0');
    while (cursors.size > 0) {
      const callFor: QueryCall = (index) => {
        const cursor = cursors.get(index);
        return cursor === undefined ? null : adminScan.call({ cursor, ...terms });
      };
      const needed = Math.min(walk.needed, cursors.size);
      const pages = await this.#ask({ ...walk, needed }, callFor, adminScan.decode, prefix);
      const rest = new Map(pages.map(({ index, value }) => [index, value.cursor]));
      // One that is not needed and does not answer is left out: the others have what a majority has.
      for (const index of [...cursors.keys()]) {
        const cursor = rest.get(index);
        if (cursor === undefined || cursor === '0') cursors.delete(index);
        else cursors.set(index, cursor);
      }
      const keys = new Set(pages.flatMap(({ value }) => value.keys));
      const names = [...keys]
        // In a cluster no lock can have a name whose keys would live apart: it is somebody's data.
        .filter((key) => this.#session.topology.shards === undefined || sharesSlot(key))
        .map((key) => key.slice(this.#keyPrefix.length));
      const fresh = names.filter((name) => name !== '' && !seen.has(name));
      for (const name of fresh) seen.add(name);
      yield* this.#inspectAll(fresh);
    }
  }

  async *#inspectAll(names: readonly string[]): AsyncGenerator<Inspection, void, undefined> {
    for (let i = 0; i < names.length; i += INSPECT_MAX) {
      const some = names.slice(i, i + INSPECT_MAX);
      const inspections = await Promise.all(some.map((name) => this.inspect(name)));
      for (const inspection of inspections) if (inspection !== null && isLock(inspection)) yield inspection;
    }
  }

  /** The owner that lost it, or null when nobody held it. Only from `owner`, unless that is ''. */
  async forceRelease(name: string, owner: string): Promise<string | null> {
    const key = this.#keyPrefix + name;
    const channels = { lockChannel: lockChannel(key), mutexChannel: mutexChannel(key) };
    const answers = await this.#ask(
      this.#deciding,
      (_, how) => adminForceRelease.call({ name: key, owner, ...channels, how }),
      adminForceRelease.decode,
      name,
    );
    this.#refuseOtherOwner(name, owner, answers);
    const lost = mostCommon(answers.flatMap(({ value }) => (value.is === 'RELEASED' ? [value.owner] : [])));
    if (lost !== undefined) {
      for (const hold of this.#session.holdsOf(key)) {
        if (shownOwner(hold.protocol.kind, hold.holder) === lost) hold.lose('revoked');
      }
      return lost;
    }
    for (const { value } of answers) {
      if (value.is !== 'CONFLICT') continue;
      const message = `${quote(name)}: the key holds something else (${printable(value.found)}); it was left untouched`;
      throw new LockConflictError(message, { lock: name });
    }
    return null;
  }

  /** Of several servers: what a minority has is a vote that failed or is being cleaned up, and nobody's lock. */
  #refuseOtherOwner(
    name: string,
    expected: string,
    answers: readonly Answer<AdminForceReleaseOutcome>[],
  ): void {
    const refusals = answers.flatMap(({ value }) => (value.is === 'HELD' ? [value] : []));
    const owner = mostCommon(refusals.map((refusal) => refusal.owner));
    const theirs = refusals.filter((refusal) => refusal.owner === owner);
    const [first] = theirs;
    if (first === undefined || theirs.length < this.#session.topology.majority) return;
    const whose = `expected ${describe(expected)} to hold it, found ${describe(first.owner)}`;
    const message = `${JSON.stringify(name)}: ${whose}; it was left untouched`;
    throw new LockNotHeldError(message, { lock: name, holder: { owner: first.owner, ttlMs: first.ttlMs } });
  }

  async check(): Promise<Finding[]> {
    const walk = await this.#walk();
    const isOne = walk.size === 1;
    const answers = await this.#ask(walk, () => adminHealth.call(), adminHealth.decode, undefined);
    const findings: Finding[] = [];
    for (const { server, value } of answers) {
      const who = isOne ? 'the server' : server;
      if (value.maxmemory !== '0' && value.policy !== 'noeviction') {
        // Every policy but noeviction may pick a lock: it is a key like any other, and it has an expiry.
        const whose = isOne ? 'maxmemory-policy' : `the maxmemory-policy of ${server}`;
        const message = `${whose} is ${printable(value.policy)}: under memory pressure the server may evict a lock that is held; expected noeviction`;
        findings.push({ code: 'EVICTION', message });
      }
      if (value.role !== 'master') {
        const message = `${who} is a ${printable(value.role)}: locks are taken on a primary`;
        findings.push({ code: 'REPLICA', message });
      }
      if (Number.parseInt(value.version, 10) < 7) {
        findings.push({
          code: 'VERSION',
          message: `${who} is ${printable(value.version)}; holdfast needs Redis 7.0`,
        });
      }
    }
    return findings;
  }

  /** The servers that decide about a name. */
  get #deciding(): Walk {
    const { topology } = this.#session;
    return { size: topology.size, needed: topology.majority, query: topology.query.bind(topology) };
  }

  /** The servers that have names. */
  async #walk(): Promise<Walk> {
    const { topology, options } = this.#session;
    return topology.shards === undefined ? this.#deciding : topology.shards.walk(options.callTimeoutMs);
  }

  /** Asks the servers; the answers of fewer than are needed are none. */
  async #ask<Value>(
    servers: Walk,
    callFor: QueryCall,
    decode: (reply: Reply) => Value,
    name: string | undefined,
  ): Promise<Answer<Value>[]> {
    const { options } = this.#session;
    const answers: Answer<Value>[] = [];
    const failures: ServerFailure[] = [];
    for (const { index, server, reply } of await servers.query(callFor, options.callTimeoutMs)) {
      const value = reply instanceof CallFailure ? reply : read(reply, () => decode(reply));
      if (value instanceof CallFailure) failures.push({ server, kind: value.kind, text: value.text });
      else answers.push({ index, server, value });
    }
    if (answers.length >= servers.needed) return answers;
    const what = servers.size === 1 ? 'the server did not serve it' : 'too few servers served it';
    const message = `${what} (${describeServers(failures)})`;
    if (failures.some(({ kind }) => kind === 'unknown')) throw new LockUnknownError(message, { lock: name });
    throw new LockUnavailableError(message, { lock: name, servers: failures });
  }
}
