/** Two servers for many programs: each program has one to itself while it runs, and finds it empty. */
import { afterAll, beforeAll } from 'vitest';
import { ask } from '../support/servers/raw-redis.ts';
import { type RedisServer, startRedis, stopAllRedis } from '../support/servers/redis-server.ts';

const SERVERS = 2;

export class ServerPool {
  readonly #free: RedisServer[] = [];
  readonly #waiting: ((server: RedisServer) => void)[] = [];

  async start(): Promise<void> {
    this.#free.push(...(await Promise.all(Array.from({ length: SERVERS }, () => startRedis()))));
  }

  async lend<Result>(work: (port: number) => Promise<Result>): Promise<Result> {
    const server =
      this.#free.pop() ?? (await new Promise<RedisServer>((resolve) => this.#waiting.push(resolve)));
    try {
      return await work(server.port);
    } finally {
      await ask(server.port, ['FLUSHALL', 'SYNC']);
      const next = this.#waiting.shift();
      if (next === undefined) this.#free.push(server);
      else next(server);
    }
  }
}

export function useServerPool(): ServerPool {
  const pool = new ServerPool();
  beforeAll(() => pool.start());
  afterAll(stopAllRedis);
  return pool;
}
