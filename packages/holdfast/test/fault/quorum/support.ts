/** Several real servers that decide together, sessions that reach them straight or through proxies, a look at votes. */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { Locks, type LocksOptions, LockUnavailableError, type ServerFailure } from '../../../src/index.ts';
import { type ServerBench, useBench } from '../../support/bench.ts';
import { held } from '../../support/locks/held.ts';
import type { Kind } from '../../support/locks/kind.ts';
import type { FaultProxy } from '../../support/proxies/fault-proxy.ts';
import { rejection } from '../../support/rejection.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { RedisServer, stopAllRedis } from '../../support/servers/redis-server.ts';
import type { RedisOptions } from '../../support/servers/server-args.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Where a test is not about it: longer than the machine stalls. */
const NODE_TIMEOUT_MS = 1_000;

/** A server by where it listens. */
interface Way {
  readonly port: number;
}

export class QuorumBench {
  readonly servers: readonly RedisServer[];
  readonly bench: ServerBench;

  constructor(servers: readonly RedisServer[], bench: ServerBench) {
    this.servers = servers;
    this.bench = bench;
  }

  get majority(): number {
    return Math.floor(this.servers.length / 2) + 1;
  }

  name(): string {
    return this.bench.name();
  }

  /** One for each server, in their order. */
  proxies(): Promise<FaultProxy[]> {
    return Promise.all(this.servers.map(({ port }) => this.bench.proxy(port)));
  }

  /** A session of its own. The servers have just started, so nobody guards against that unless the test says so. */
  session(options: LocksOptions = {}, ways: readonly Way[] = this.servers): Locks {
    return this.guarded({ restartGuardMs: 0, ...options }, ways);
  }

  /** A session of its own, with the guard as it is by default. */
  guarded(options: LocksOptions = {}, ways: readonly Way[] = this.servers): Locks {
    const clients = ways.map(({ port }) => {
      const client = new Redis({ port, host: '127.0.0.1', lazyConnect: true });
      client.on('error', () => {});
      return client;
    });
    const locks = new Locks(clients, {
      application: false,
      nodeTimeoutMs: NODE_TIMEOUT_MS,
      callTimeoutMs: 5_000,
      ...options,
    });
    this.bench.onEnd(async () => {
      await locks.destroy();
      for (const client of clients) client.disconnect();
    });
    return locks;
  }

  /** A session that has all of its servers behind it. */
  async assembled(
    kind: Kind,
    options: LocksOptions = {},
    ways: readonly Way[] = this.servers,
  ): Promise<Locks> {
    const locks = this.session(options, ways);
    await this.assemble(locks, kind);
    return locks;
  }

  /** Resolves when every server votes for that session. */
  async assemble(locks: Locks, kind: Kind): Promise<void> {
    const name = this.name();
    await waitFor(
      async () => {
        // Without renewal, which gives a missing vote also to a server that may not vote yet.
        await using _lease = await kind.of(locks, name).acquire({ renew: false });
        // Stragglers are not waited for by an acquisition, but their votes come.
        await waitFor(async () => (await this.voters(kind, name)).length === this.servers.length, {
          limitMs: 100,
        });
        return true;
      },
      { limitMs: 60_000, what: 'a vote of every server' },
    );
  }

  /** Resolves when every server has given its vote: the last ones may be on their way when a lock is granted. */
  async untilAll(kind: Kind, name: string): Promise<void> {
    await waitFor(async () => (await this.voters(kind, name)).length === this.servers.length, {
      what: `every vote for ${name}`,
    });
  }

  /** What each server says against an attempt, once the session has reached all of them: a first use waits for a majority. */
  objections(attempt: () => Promise<unknown>): Promise<readonly ServerFailure[]> {
    return waitFor(
      async () => {
        const error = await rejection(attempt());
        if (!(error instanceof LockUnavailableError)) throw error;
        return !error.servers.some(({ kind }) => kind === 'unreachable') && error.servers;
      },
      { what: 'a word of every server' },
    );
  }

  /** Whose vote stands on each server, in their order; null for none, undefined for a server that is away. */
  votes(kind: Kind, name: string): Promise<(string | null | undefined)[]> {
    return Promise.all(
      this.servers.map(async (server) => {
        if (!server.isRunning || server.isFrozen) return undefined;
        return (await held(server.port, kind, name))?.owner ?? null;
      }),
    );
  }

  /** The servers on which a vote stands, by their place. */
  async voters(kind: Kind, name: string): Promise<number[]> {
    const votes = await this.votes(kind, name);
    return votes.flatMap((vote, i) => (typeof vote === 'string' ? [i] : []));
  }

  /** Takes it for somebody else on some servers. */
  async take(kind: Kind, name: string, places: readonly number[], ttlMs = 60_000): Promise<void> {
    await Promise.all(places.map((i) => kind.seize(this.server(i).port, name, ttlMs)));
  }

  /** Removes it from some servers, as an administrator would. */
  async remove(name: string, places: readonly number[]): Promise<void> {
    await Promise.all(places.map((i) => ask(this.server(i).port, ['DEL', name])));
  }

  server(place: number): RedisServer {
    const server = this.servers[place];
    if (server === undefined) throw new Error(`expected a server from 0 to ${this.servers.length - 1}`);
    return server;
  }

  /** Lets frozen servers go on, and waits until they do: what piled up is run first. */
  async resume(places: readonly number[]): Promise<void> {
    for (const i of places) this.server(i).resume();
    await Promise.all(places.map((i) => ask(this.server(i).port, ['PING'])));
  }

  /**
   * Nothing of it stands anywhere: first on the servers that answer, then on the frozen ones, which go on for that. What a
   * frozen server was asked for it does then, so its clean-up needs a session that still lives.
   */
  async untilFree(kind: Kind, name: string, limitMs = 10_000): Promise<void> {
    const untilNone = (): Promise<unknown> =>
      waitFor(async () => (await this.voters(kind, name)).length === 0, {
        limitMs,
        what: `no vote for ${name} to be left`,
      });
    await untilNone();
    const frozen = this.servers.flatMap(({ isFrozen }, place) => (isFrozen ? [place] : []));
    if (frozen.length === 0) return;
    await this.resume(frozen);
    await untilNone();
  }
}

/** Servers for a test file: started before its tests, up before each, stopped at its end. */
export function useServers(size: number, options: RedisOptions = {}): readonly RedisServer[] {
  const servers = Array.from({ length: size }, () => new RedisServer(options));
  beforeAll(async () => {
    await Promise.all(servers.map((server) => server.start()));
  });
  beforeEach(async () => {
    await Promise.all(servers.map((server) => server.ensureUp()));
  });
  afterAll(stopAllRedis);
  return servers;
}

/** Call it after `useLeakCheck`, whose check must come after everything is taken down. */
export function useQuorumBench(servers: readonly RedisServer[]): QuorumBench {
  return new QuorumBench(servers, useBench());
}

/** How long it took, in milliseconds. */
export async function timed<Result>(work: () => Promise<Result>): Promise<[Result, number]> {
  const startedMs = performance.now();
  const result = await work();
  return [result, performance.now() - startedMs];
}
