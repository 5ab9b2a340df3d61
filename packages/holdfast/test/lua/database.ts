/** A real server for the tests of one script, empty before each test. */
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import type { Reply, ScriptCall, ScriptText } from '../../src/clients/client.ts';
import { type RedisServer, useRedis } from '../support/servers/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';

/** How much of a TTL may have passed by the time we look. */
const SLACK_MS = 2_000;

/** How the messages begin that only mark how far a listener has heard. */
const END = 'the end of';

export interface Messages {
  /** Resolves to everything heard so far, in order. */
  heard(): Promise<string[]>;
}

export class Database {
  readonly #server: RedisServer;
  readonly #others: Redis[] = [];
  #redis: Redis | undefined;

  constructor(server: RedisServer) {
    this.#server = server;
  }

  /** The connection that scripts are sent over, for everything else a test must do to the server. */
  get redis(): Redis {
    if (this.#redis === undefined)
      throw new Error('the database of this file is not open yet: ask inside a test');
    return this.#redis;
  }

  open(): void {
    this.#redis = new Redis({ port: this.#server.port });
  }

  async close(): Promise<void> {
    await this.redis.quit();
  }

  /** One more connection, until the end of the test. */
  #connect(username?: string): Redis {
    const login = username === undefined ? {} : { username, password: 'secret' };
    const client = new Redis({ port: this.#server.port, ...login });
    this.#others.push(client);
    return client;
  }

  /** Waits for the server to know, or a listener of one test would be counted by the next. */
  async closeOthers(): Promise<void> {
    await Promise.all(this.#others.splice(0).map((client) => client.quit()));
  }

  /** Runs a script as the library does, by its hash, after making sure that the server has the same hash for it. */
  async run(call: ScriptCall, client: Redis = this.redis): Promise<Reply> {
    await this.load(call.script);
    return await this.send(call, client);
  }

  /** Runs a script that the server has, in the order of the calls. */
  async send({ script, keys, args }: ScriptCall, client: Redis = this.redis): Promise<Reply> {
    // Our scripts answer nothing else; the decoder looks again.
    return (await client.evalsha(script.sha, keys.length, ...keys, ...args)) as Reply;
  }

  async load(script: ScriptText): Promise<void> {
    expect(await this.redis.script('LOAD', script.source)).toBe(script.sha);
  }

  /** Every key of the server with its value. */
  async contents(): Promise<Record<string, unknown>> {
    const names = (await this.redis.keys('*')).sort();
    const values = await Promise.all(names.map((name) => this.#value(name)));
    return Object.fromEntries(names.map((name, index) => [name, values[index]]));
  }

  async #value(name: string): Promise<unknown> {
    const type = await this.redis.type(name);
    if (type === 'string') return await this.redis.get(name);
    if (type === 'hash') return await this.redis.hgetall(name);
    if (type === 'list') return await this.redis.lrange(name, 0, -1);
    throw new Error(`no test puts a ${type} under ${name}`);
  }

  /** Expects a key to expire in this time, less what has passed since it was set. */
  async expectTtl(name: string, ttlMs: number): Promise<void> {
    const left = await this.redis.pttl(name);
    expect(left).toBeLessThanOrEqual(ttlMs);
    expect(left).toBeGreaterThan(ttlMs - SLACK_MS);
  }

  /** How much has been written since the server began. */
  async writes(): Promise<number> {
    return Number(/rdb_changes_since_last_save:(\d+)/.exec(await this.redis.info('persistence'))?.[1]);
  }

  async expectNoTtl(name: string): Promise<void> {
    expect(await this.redis.pttl(name)).toBe(-1);
  }

  /** Listens to a channel; resolves when the server has confirmed. */
  async listen(channel: string, mode: 'plain' | 'sharded' = 'plain'): Promise<Messages> {
    const client = this.#connect();
    const messages: string[] = [];
    const [subscribe, publish] = mode === 'plain' ? ['subscribe', 'publish'] : ['ssubscribe', 'spublish'];
    for (const event of ['message', 'smessage']) {
      client.on(event, (_channel: string, message: string) => messages.push(message));
    }
    await client.call(subscribe as string, channel);
    return {
      heard: async () => {
        // Messages of one channel come in order: once this one is here, so is everything before it. Its own, because
        // several may listen.
        const end = `${END} ${randomUUID()}`;
        await this.redis.call(publish as string, channel, end);
        await waitFor(() => messages.includes(end), { what: `the last message on ${channel}` });
        return messages.splice(0).filter((message) => !message.startsWith(END));
      },
    };
  }

  /** A connection that may do everything but what the rules take away. */
  async restricted(...rules: string[]): Promise<Redis> {
    await this.redis.acl('SETUSER', 'restricted', 'reset', 'on', '>secret', '~*', '&*', '+@all', ...rules);
    return this.#connect('restricted');
  }

  /** Runs something while the server is over its memory limit and must not evict. */
  async whileOutOfMemory(body: () => Promise<void>): Promise<void> {
    await this.redis.config('SET', 'maxmemory', '1');
    try {
      await body();
    } finally {
      await this.redis.config('SET', 'maxmemory', '0');
    }
  }

  /** The server's clock, in milliseconds. */
  async nowMs(): Promise<number> {
    const [seconds, micros] = await this.redis.time();
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  }
}

/** One server and one connection for a test file. */
export function useDatabase(): Database {
  const database = new Database(useRedis({ args: ['--maxmemory-policy', 'noeviction'] }));
  beforeAll(() => database.open());
  beforeEach(async () => {
    await database.redis.flushall();
  });
  afterEach(() => database.closeOthers());
  afterAll(() => database.close());
  return database;
}
