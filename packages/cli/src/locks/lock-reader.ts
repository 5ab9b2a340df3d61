/** Reads locks, with the records of the sessions that own them, and the server's time. */
import type { Inspection, Locks } from 'holdfast';
import type { ServerFlags } from '../servers/address.ts';
import { openServers, reconnect, type Servers } from '../servers/connection.ts';
import { openLocks } from '../servers/locks.ts';
import { type HeldInspection, isHeld, type LockView, makeView } from './lock-view.ts';

export interface ReaderFlags extends ServerFlags {
  readonly prefix?: string;
  readonly json?: boolean;
}

export interface ListTerms {
  readonly limit: number;
  /** Whether strings that may be a mutex of another library are listed too. */
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
    return new LockReader(servers, openLocks(servers, { prefix: flags.prefix ?? '', application: false }));
  }

  /** Over locks that are open already, and stay open. */
  static over(servers: Servers, locks: Locks): LockReader {
    return new LockReader(servers, locks);
  }

  get servers(): Servers {
    return this.#servers;
  }

  async close(): Promise<void> {
    await this.locks.close();
    this.#servers.close();
  }

  /** Null when nobody holds it or waits for it. */
  inspect(name: string): Promise<Inspection | null> {
    return this.locks.inspect(name, { record: true });
  }

  async view(inspection: HeldInspection): Promise<LockView> {
    return makeView(inspection, await this.#serverMs());
  }

  async list(prefix: string, { limit, all = false }: ListTerms): Promise<LockList> {
    const found: HeldInspection[] = [];
    let isComplete = true;
    for await (const inspection of this.locks.list({ prefix, all, record: true })) {
      if (!isHeld(inspection)) continue;
      if (found.length === limit) {
        isComplete = false;
        break;
      }
      found.push(inspection);
    }
    const serverMs = await this.#serverMs();
    const views = found.map((inspection) => makeView(inspection, serverMs));
    return { locks: views.sort((a, b) => (a.name < b.name ? -1 : 1)), isComplete };
  }

  /** By the first server that answers, and by our own clock when none does. */
  async #serverMs(): Promise<number> {
    for (const { redis } of this.#servers.up) {
      // `watch` may outlive a restart of the server.
      await reconnect(redis);
      const time = await redis.time().catch(() => null);
      if (time !== null) return Number(time[0]) * 1000 + Number(time[1]) / 1000;
    }
    return Date.now();
  }
}
