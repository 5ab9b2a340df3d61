/**
 * One connection of the sampler to one server: never queued, never subscribed, every call with a limit, and counted. A client of
 * the caller gives the settings; the connection is our own.
 */
import { Redis, type RedisOptions } from 'ioredis';
import type { ServerHealth } from '../../api/types.ts';
import { inTime } from '../../time-limit.ts';
import type { Script } from '../locks/scripts.ts';

/** For a call on an open connection. */
const CALL_MS_MAX = 2_000;

/** Between two attempts to connect. */
const RECONNECT_MS = 500;

/** Calls without an answer after which the connection is replaced: the server may live, and the network not. */
const MUTE_CALLS_MAX = 5;

export class ServerConnection {
  /** What the settings say; the address that was reached is `address`. */
  readonly name: string;
  readonly redis: Redis;
  /** Commands sent so far. */
  sent = 0;
  /** Why the last attempt to connect failed. */
  #connectError: string | null = null;
  #mute = 0;

  constructor(name: string, options: RedisOptions) {
    this.name = name;
    // Replies are read as the server sends them.
    const { replyMapping: _mapping, ...rest } = options;
    this.redis = new Redis({
      ...rest,
      keyPrefix: '',
      lazyConnect: true,
      enableOfflineQueue: false,
      enableReadyCheck: false,
      maxRetriesPerRequest: 0,
      autoResubscribe: false,
      connectTimeout: CALL_MS_MAX,
      retryStrategy: () => RECONNECT_MS,
      sentinelRetryStrategy: () => RECONNECT_MS,
      connectionName: 'holdfast-monitor',
    });
    this.redis.on('error', (error: Error) => {
      this.#connectError = error.message || error.name;
    });
    this.redis.on('ready', () => {
      this.#connectError = null;
      this.#mute = 0;
    });
  }

  open(): void {
    this.redis.connect().catch(() => {});
  }

  close(): void {
    this.redis.disconnect();
  }

  /** For a primary behind sentinels, when the server at hand is none any more. */
  reconnect(): void {
    this.redis.disconnect(true);
  }

  /** `host:port` of the server that was reached last. */
  get address(): string {
    const { stream } = this.redis as unknown as { stream?: { remoteAddress?: string; remotePort?: number } };
    const { remoteAddress: host, remotePort: port } = stream ?? {};
    if (this.redis.options.sentinels == null || host === undefined) return this.name;
    return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  }

  get isOpen(): boolean {
    return this.redis.status === 'ready';
  }

  /** Rejects with the server's error, or with `CallTimeout`, or at once when there is no connection. */
  async call(command: string, ...args: (string | number)[]): Promise<unknown> {
    if (!this.isOpen) throw new NoConnection(this.#connectError ?? 'no connection yet');
    this.sent += 1;
    const answer = this.redis.call(command, ...args);
    try {
      const value = await inTime(answer, { limitMs: CALL_MS_MAX, late: () => new CallTimeout() });
      this.#mute = 0;
      return value;
    } catch (error) {
      if (error instanceof CallTimeout) {
        this.#mute += 1;
        if (this.#mute >= MUTE_CALLS_MAX) this.redis.disconnect(true);
      }
      throw error;
    }
  }

  /** By its digest; with its text where the server does not know it. */
  async run({ sha, source }: Script, args: readonly (string | number)[]): Promise<unknown> {
    try {
      return await this.call('EVALSHA', sha, 0, ...args);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return this.call('EVAL', source, 0, ...args);
    }
  }
}

class NoConnection extends Error {}

class CallTimeout extends Error {
  constructor() {
    super(`no answer within ${CALL_MS_MAX / 1000} s`);
  }
}

/** What an error of a call says of the server. */
export function healthAfter(error: unknown): { health: ServerHealth; trouble: string } {
  const message = error instanceof Error ? error.message : String(error);
  const trouble = message.replaceAll(/\s+/g, ' ').slice(0, 300);
  if (error instanceof CallTimeout || /^BUSY\b/.test(message)) return { health: 'busy', trouble };
  if (/^LOADING\b/.test(message)) return { health: 'loading', trouble };
  if (/NOAUTH|WRONGPASS|NOPERM/.test(message)) return { health: 'refused', trouble };
  return { health: 'down', trouble };
}

/** As a command says it, and as a script does whose user may not run one of its commands. */
const FORBIDDEN = /^NOPERM|user executing the script can't/;

export function isForbidden(error: unknown): error is Error {
  return error instanceof Error && FORBIDDEN.test(error.message);
}
