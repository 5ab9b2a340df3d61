/** Servers of a quorum that freeze and die at random, never more of them at a time than it survives. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisServer } from '../../support/servers/redis-server.ts';

export interface NodeFaultsOptions {
  readonly fraction: () => number;
  /** How long a server that has restarted does not vote: it counts as away for so long. */
  readonly guardMs: number;
}

const FREEZE_MS_MAX = 400;
const DEATH_MS_MAX = 200;
const PAUSE_MS_MAX = 150;
const KILL_SHARE = 0.25;

export class NodeFaults {
  readonly #servers: readonly RedisServer[];
  readonly #options: NodeFaultsOptions;
  readonly #away = new Set<RedisServer>();
  readonly #running: Promise<void>[] = [];
  #isOver = false;
  #freezes = 0;
  #kills = 0;

  constructor(servers: readonly RedisServer[], options: NodeFaultsOptions) {
    this.#servers = servers;
    this.#options = options;
    const minority = Math.floor((servers.length - 1) / 2);
    for (let i = 0; i < minority; i += 1) this.#running.push(this.#strike());
  }

  get freezes(): number {
    return this.#freezes;
  }

  get kills(): number {
    return this.#kills;
  }

  /** Everybody is up again. */
  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#running);
  }

  /** One after the other, so that there are as many at a time as of these. */
  async #strike(): Promise<void> {
    const { fraction, guardMs } = this.#options;
    while (!this.#isOver) {
      await sleep(fraction() * PAUSE_MS_MAX);
      const there = this.#servers.filter((server) => !this.#away.has(server));
      const server = there[Math.floor(fraction() * there.length)];
      if (server === undefined) continue;
      this.#away.add(server);
      if (fraction() < KILL_SHARE) await this.#kill(server, guardMs);
      else await this.#freeze(server);
      this.#away.delete(server);
    }
  }

  async #freeze(server: RedisServer): Promise<void> {
    server.freeze();
    this.#freezes += 1;
    await sleep(this.#options.fraction() * FREEZE_MS_MAX);
    server.resume();
  }

  /** It comes back empty. */
  async #kill(server: RedisServer, guardMs: number): Promise<void> {
    await server.kill();
    this.#kills += 1;
    await sleep(this.#options.fraction() * DEATH_MS_MAX);
    await server.restart();
    for (let leftMs = guardMs; leftMs > 0 && !this.#isOver; leftMs -= 50) await sleep(50);
  }
}
