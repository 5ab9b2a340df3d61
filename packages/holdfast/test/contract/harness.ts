/** Turns a row of the matrix into a `test` whose tests get a bench each. */
import { Redis } from 'ioredis';
import { afterAll, test as base, beforeAll, expect, type TestAPI } from 'vitest';
import { type RedisServer, useRedis } from '../support/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { Bench, type Ground } from './bench.ts';
import { fenceCounter } from './kinds.ts';
import type { Row } from './matrix.ts';

export type ContractTest = TestAPI<{ bench: Bench }>;

/** A server for the row, an onlooker's connection to it, and a look at what the whole row leaves behind. */
class Stage implements Ground {
  readonly row: Row;
  readonly #server: RedisServer;
  #redis: Redis | undefined;
  #benches = 0;

  constructor(row: Row, server: RedisServer) {
    this.row = row;
    this.#server = server;
  }

  get port(): number {
    return this.#server.port;
  }

  get redis(): Redis {
    if (this.#redis === undefined) throw new Error('the server of this row is not up yet: ask inside a test');
    return this.#redis;
  }

  open(): void {
    this.#redis = new Redis({ host: '127.0.0.1', port: this.port, db: this.row.db ?? 0 });
  }

  async close(): Promise<void> {
    await this.redis.quit();
  }

  nextBench(): Bench {
    this.#benches += 1;
    return new Bench(this, `t${this.#benches}`);
  }

  /** Nothing but the caller's database and prefix is touched, and no connection of ours stays. */
  async expectClean(): Promise<void> {
    const { db = 0, keyPrefix = '', options } = this.row;
    const keyspace = await this.redis.info('keyspace');
    const databases = [...keyspace.matchAll(/^db(\d+):/gm)].map(([, number]) => Number(number));
    expect(databases.filter((number) => number !== db)).toEqual([]);
    const prefix = fenceCounter(keyPrefix + (options?.prefix ?? '')).slice(0, -1);
    expect((await this.redis.keys('*')).filter((key) => !isCounterUnder(key, prefix))).toEqual([]);
    await waitFor(async () => !String(await this.redis.client('LIST')).includes(' name=holdfast'), {
      what: 'all connections of closed sessions to go',
    });
  }
}

/** Names with a brace of their own have none of ours in their counter. */
function isCounterUnder(key: string, prefix: string): boolean {
  return key.startsWith(prefix) || key.startsWith(prefix.replace('{', ''));
}

/** Call it inside the `describe` of the row. */
export function useRow(row: Row): ContractTest {
  const stage = new Stage(row, useRedis());
  beforeAll(() => stage.open());
  afterAll(async () => {
    await stage.expectClean().finally(() => stage.close());
  });
  return base.extend<{ bench: Bench }>({
    bench: async ({ task }, use) => {
      const bench = stage.nextBench();
      await use(bench);
      await bench.clear();
      // A test that failed half-way leaves much behind, and has told its reason.
      const leaks = task.result?.state === 'fail' ? [] : await bench.leaks();
      if (leaks.length > 0) throw new Error(`the test left behind:\n- ${leaks.join('\n- ')}`);
    },
  });
}
