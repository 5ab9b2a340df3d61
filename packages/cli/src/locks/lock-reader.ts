/** Reads locks and the records of their sessions. */
import type { Inspection, Locks } from 'holdfast';
import type { ServerFlags } from '../servers/address.ts';
import { openServers, revive, type Servers } from '../servers/connection.ts';
import { openLocks } from '../servers/locks.ts';
import { type HeldInspection, type LockView, makeView, type SessionRecord, sessionOf } from './lock-view.ts';

export interface ReaderFlags extends ServerFlags {
  readonly prefix?: string;
  readonly json?: boolean;
}

export interface ListTerms {
  readonly limit: number;
  /** Also what may be a mutex of another library. */
  readonly all?: boolean;
}

export interface LockList {
  /** By name. */
  readonly locks: readonly LockView[];
  /** False when there are more than were asked for. */
  readonly isComplete: boolean;
}

export class LockReader {
  readonly locks: Locks;
  readonly #servers: Servers;

  private constructor(servers: Servers, locks: Locks) {
    this.#servers = servers;
    this.locks = locks;
  }

  static async open(flags: ReaderFlags): Promise<LockReader> {
    const servers = await openServers(flags);
    return new LockReader(servers, openLocks(servers, { prefix: flags.prefix ?? '' }));
  }

  /** Over locks that are open already, and stay so. */
  static over(servers: Servers, locks: Locks): LockReader {
    return new LockReader(servers, locks);
  }

  async close(): Promise<void> {
    await this.locks.close();
    this.#servers.close();
  }

  /** Null when nobody holds it. */
  inspect(name: string): Promise<Inspection | null> {
    return this.locks.inspect(name);
  }

  async view(inspection: HeldInspection): Promise<LockView> {
    const [view] = await this.#views([inspection]);
    return view as LockView;
  }

  async list(prefix: string, { limit, all = false }: ListTerms): Promise<LockList> {
    const found: HeldInspection[] = [];
    let isComplete = true;
    for await (const inspection of this.locks.list({ prefix, all })) {
      if (inspection.kind === 'other') continue;
      if (found.length === limit) {
        isComplete = false;
        break;
      }
      found.push(inspection);
    }
    const views = await this.#views(found);
    return { locks: views.sort((a, b) => (a.name < b.name ? -1 : 1)), isComplete };
  }

  async #views(inspections: readonly HeldInspection[]): Promise<LockView[]> {
    // A long look may outlive a restart of the server.
    await Promise.all(this.#servers.up.map(({ redis }) => revive(redis)));
    const serverMs = await this.#serverMs();
    const sessions = new Set(inspections.map(sessionOf).filter((session) => session !== null));
    const records = new Map<string, SessionRecord | null>();
    await Promise.all([...sessions].map(async (id) => void records.set(id, await this.#record(id))));
    return inspections.map((inspection) => {
      const session = sessionOf(inspection);
      return makeView(inspection, session === null ? null : (records.get(session) ?? null), serverMs);
    });
  }

  async #serverMs(): Promise<number> {
    for (const { redis } of this.#servers.up) {
      const time = await redis.time().catch(() => null);
      if (time !== null) return Number(time[0]) * 1000 + Number(time[1]) / 1000;
    }
    return Date.now();
  }

  /** Whoever has it: with a quorum the record is where a session could write it. */
  async #record(session: string): Promise<SessionRecord | null> {
    const { cluster, up } = this.#servers;
    // In a cluster it is where its slot is, which may have moved since.
    for (const redis of cluster === null ? up.map((server) => server.redis) : [cluster.client]) {
      // Not everybody who may look at locks may look at records.
      const [application, host, pid] = await redis
        .hmget(`holdfast_session:${session}`, 'application', 'host', 'pid')
        .catch(() => []);
      if (application && host) return { application, host, pid: Number(pid) };
    }
    return null;
  }
}
