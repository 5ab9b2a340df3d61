/**
 * What a test works with: names that nobody else has, proxies and sessions that end with the test. `Bench` is the idea;
 * `ServerBench`, the bench of the contract and that of the cluster tests say how a session reaches its servers.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterEach } from 'vitest';
import { Locks, type LocksOptions, type RedisClient } from '../../src/index.ts';
import { type FaultProxy, startProxy } from './proxies/fault-proxy.ts';

type CleanUp = () => unknown;

export class Bench {
  readonly #prefix: string;
  readonly #cleanUps: CleanUp[] = [];
  #names = 0;

  constructor(prefix = 'name-') {
    this.#prefix = prefix;
  }

  /** A fresh name each time, which no other test uses. The label is its end. */
  name(label = ''): string {
    this.#names += 1;
    return `${this.#prefix}${this.#names}${label === '' ? '' : `:${label}`}`;
  }

  async proxy(targetPort: number): Promise<FaultProxy> {
    const proxy = await startProxy(targetPort);
    this.onEnd(() => proxy.stop());
    return proxy;
  }

  /** Everything published on a diagnostics channel from now to the end of the test. */
  diagnostics<Message>(channel: string): readonly Message[] {
    const messages: Message[] = [];
    const listen = (message: unknown): void => {
      // What a channel carries is agreed with its publisher, not checked here.
      messages.push(message as Message);
    };
    subscribe(channel, listen);
    this.onEnd(() => unsubscribe(channel, listen));
    return messages;
  }

  /** Last added, first run: sessions end before the clients and proxies that they were made with. */
  onEnd(cleanUp: CleanUp): void {
    this.#cleanUps.push(cleanUp);
  }

  /** Runs every clean-up, also those added meanwhile, and tells the first that failed. */
  async end(): Promise<void> {
    const failures: unknown[] = [];
    for (let cleanUp = this.#cleanUps.pop(); cleanUp !== undefined; cleanUp = this.#cleanUps.pop()) {
      try {
        await cleanUp();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

export type ClientKind = 'ioredis' | 'node-redis';

export const CLIENTS: readonly ClientKind[] = ['ioredis', 'node-redis'];

export interface SessionOptions extends LocksOptions {
  readonly client?: ClientKind;
  readonly db?: number;
  readonly username?: string;
  readonly password?: string;
}

/** Where a test is not about it: longer than a busy machine takes for a first connection. */
const CALL_TIMEOUT_MS = 5_000;

/** Sessions on single servers, by their ports. Leases are left where they are, so that a leak shows. */
export class ServerBench extends Bench {
  /** A session of its own, as another process would have. */
  async session(port: number, options: SessionOptions = {}): Promise<Locks> {
    const { client: kind = 'ioredis', db, username, password, ...rest } = options;
    const login = { ...(username && { username }), ...(password && { password }) };
    const client =
      kind === 'ioredis'
        ? this.#ioredis(port, { ...login, ...(db !== undefined && { db }) })
        : this.#nodeRedis(port, { ...login, ...(db !== undefined && { database: db }) });
    const locks = new Locks(client, { application: false, callTimeoutMs: CALL_TIMEOUT_MS, ...rest });
    this.onEnd(() => locks.destroy());
    return locks;
  }

  /** Never connected itself: the session's own connections are the only ones. */
  #ioredis(port: number, options: object): RedisClient {
    const client = new Redis({ port, host: '127.0.0.1', lazyConnect: true, ...options });
    client.on('error', () => {});
    this.onEnd(() => client.disconnect());
    return client;
  }

  #nodeRedis(port: number, options: object): RedisClient {
    const client = createClient({ socket: { host: '127.0.0.1', port }, ...options });
    client.on('error', () => {});
    this.onEnd(() => {
      if (client.isOpen) client.destroy();
    });
    return client;
  }
}

/** Call it after `useLeakCheck`, whose check must come after everything is taken down. */
export function useBench(): ServerBench {
  const bench = new ServerBench();
  afterEach(() => bench.end());
  return bench;
}
