/** Looking at locks from outside, and taking one away: what operators need at three in the morning. */
import { CallFailure, type Reply, type ScriptCall } from '../clients/client.ts';
import { LockConflictError, LockUnavailableError, LockUnknownError } from '../errors.ts';
import { adminForceRelease, adminHealth, adminInspect, adminScan } from '../scripts/generated.ts';
import { fenceKey, lockChannel, mutexChannel } from './name.ts';
import type { Session } from './session.ts';

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
      /** The owner's token. */
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

/** What mutex libraries use as tokens: 16 or more random bytes in hexadecimal or base64, or a UUID. */
const TOKEN = /^([0-9a-f]{32,64}|[A-Za-z0-9+/_-]{22,43}={0,2}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

function isLock(inspection: Inspection): boolean {
  if (inspection.kind === 'lock') return OWNER.test(inspection.owner);
  return inspection.kind === 'mutex' && inspection.ttlMs >= 0 && TOKEN.test(inspection.owner);
}

function escapeGlob(text: string): string {
  return text.replace(/[\\*?[\]^-]/g, '\\$&');
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
    const call = adminInspect.call({
      name: key,
      fence: fenceKey(key),
      lockChannel: lockChannel(key),
      mutexChannel: mutexChannel(key),
    });
    const found = adminInspect.decode(await this.#query(call, name));
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

  async *list(prefix: string): AsyncGenerator<Inspection, void, undefined> {
    const pattern = `${escapeGlob(this.#keyPrefix + prefix)}*`;
    // SCAN may tell a key twice while the table is resized.
    const seen = new Set<string>();
    let cursor = '0';
    do {
      const call = adminScan.call({ cursor, pattern, count: SCAN_COUNT });
      const page = adminScan.decode(await this.#query(call, prefix));
      const names = page.keys.map((key) => key.slice(this.#keyPrefix.length)).filter((name) => name !== '');
      for (let i = 0; i < names.length; i += INSPECT_MAX) {
        const fresh = names.slice(i, i + INSPECT_MAX).filter((name) => !seen.has(name));
        for (const name of fresh) seen.add(name);
        const inspections = await Promise.all([...new Set(fresh)].map((name) => this.inspect(name)));
        for (const inspection of inspections) if (inspection !== null && isLock(inspection)) yield inspection;
      }
      cursor = page.cursor;
    } while (cursor !== '0');
  }

  /** The owner that lost it, or null when nobody held it. */
  async forceRelease(name: string): Promise<string | null> {
    const key = this.#keyPrefix + name;
    const channels = { lockChannel: lockChannel(key), mutexChannel: mutexChannel(key) };
    const answer = adminForceRelease.decode(
      await this.#query(adminForceRelease.call({ name: key, ...channels }), name),
    );
    if (answer.is === 'GONE') return null;
    if (answer.is === 'CONFLICT') {
      const message = `${JSON.stringify(name)}: the key holds something else (${answer.found}); it was left untouched`;
      throw new LockConflictError(message, { lock: name });
    }
    const hold = this.#session.findHold(answer.owner);
    hold?.warden.holdLost(hold, 'revoked');
    return answer.owner;
  }

  async check(): Promise<Finding[]> {
    const server = adminHealth.decode(await this.#query(adminHealth.call(), undefined));
    const findings: Finding[] = [];
    if (server.maxmemory !== '0' && server.policy !== 'noeviction') {
      // Every policy but noeviction may pick a lock: it is a key like any other, and it has an expiry.
      const message = `maxmemory-policy is ${server.policy}: under memory pressure the server may evict a lock that is held; expected noeviction`;
      findings.push({ code: 'EVICTION', message });
    }
    if (server.role !== 'master') {
      findings.push({
        code: 'REPLICA',
        message: `the server is a ${server.role}: locks are taken on a primary`,
      });
    }
    if (Number.parseInt(server.version, 10) < 7) {
      findings.push({
        code: 'VERSION',
        message: `the server is ${server.version}; holdfast needs Redis 7.0`,
      });
    }
    return findings;
  }

  async #query(call: ScriptCall, name: string | undefined): Promise<Reply> {
    const reply = await this.#session.topology.query(call, this.#session.options.callTimeoutMs);
    if (!(reply instanceof CallFailure)) return reply;
    const message = `${call.script.name}: ${reply.kind}, ${reply.text}`;
    if (reply.kind === 'unknown') throw new LockUnknownError(message, { lock: name });
    const server = { server: this.#session.topology.description, kind: reply.kind, text: reply.text };
    throw new LockUnavailableError(message, { lock: name, servers: [server] });
  }
}
