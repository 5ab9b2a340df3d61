/** What a rule of the suite works with: the caller's client, the seam made from it, and scripts to run. */
import { afterEach, beforeEach, expect } from 'vitest';
import { adaptClient } from '../../src/clients/adapt.ts';
import { CallFailure, type Client, type Reply } from '../../src/clients/client.ts';
import { type Clock, systemClock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { TimerQueue } from '../../src/runtime/timer-queue.ts';
import type { Extent } from '../support/extent.ts';
import { useLeakCheck } from '../support/leak-check.ts';
import { type FaultProxy, startProxy } from '../support/proxies/fault-proxy.ts';
import { ask, askAll, asStrings } from '../support/servers/raw-redis.ts';
import { type RedisServer, useRedis } from '../support/servers/redis-server.ts';
import type { Caller, CallerOptions, Flavour } from './caller.ts';
import { type Rule, ruleOf } from './rule.ts';

/** One line of the matrix. */
export interface Row extends Extent {
  readonly title: string;
  readonly flavour: Flavour;
  readonly database?: number;
  readonly keyPrefix?: string;
}

export interface Adapted {
  readonly client: Client;
  readonly caller: Caller;
  readonly timers: TimerQueue;
}

export interface AdaptChoices extends Partial<CallerOptions> {
  readonly clock?: Clock;
  /** Whether the caller has connected its own client. @default false */
  readonly isConnected?: boolean;
}

/** Long enough that only a broken client reaches it. */
export const AMPLE_MS = 10_000;

export class Harness {
  readonly row: Row;
  readonly redis: RedisServer;
  readonly rule: Rule;
  #proxy: FaultProxy | null = null;
  #adapted: Adapted[] = [];

  /** Registers the hooks of the suite: call it inside `describe`. */
  constructor(row: Row) {
    this.row = row;
    this.redis = useRedis();
    this.rule = ruleOf(row.flavour, row.title);
    useLeakCheck(this.redis, { ignoreKeys: [/^list/] });
    beforeEach(async () => {
      if (!this.redis.isRunning) await this.redis.restart();
      await ask(this.redis.port, ['SCRIPT', 'FLUSH']);
      this.#proxy = await startProxy(this.redis.port);
    });
    afterEach(async () => {
      for (const { client, caller } of this.#adapted) {
        await client.close();
        await caller.end();
      }
      this.#adapted = [];
      await this.#proxy?.stop();
      this.#proxy = null;
    });
  }

  /** That a connection could not be had for this reason, as far as the client tells it. */
  expectReason(text: string, reason: string | RegExp): void {
    expect(text).toMatch(this.row.flavour.saysWhy === false ? /./ : reason);
  }

  /** Between the clients and the server, new for each test. */
  get proxy(): FaultProxy {
    if (this.#proxy === null) throw new Error('the proxy is there inside a test only');
    return this.#proxy;
  }

  /** A client through the proxy, closed after the test. */
  async adapt(choices: AdaptChoices = {}): Promise<Adapted> {
    const { clock = systemClock, isConnected = false, ...options } = choices;
    const caller = await this.row.flavour.make({
      port: this.proxy.port,
      database: this.row.database,
      keyPrefix: this.row.keyPrefix,
      ...options,
    });
    if (isConnected) await caller.connect();
    const timers = new TimerQueue(clock);
    const client = adaptClient(caller.client, { timers, random: systemRandom });
    const adapted = { client, caller, timers };
    this.#adapted.push(adapted);
    return adapted;
  }

  /** The connections that are ours, as the server sees them. */
  async ownConnections(): Promise<string[]> {
    const list = String(await ask(this.redis.port, ['CLIENT', 'LIST']));
    return list.split('\n').filter((line) => line.includes(' name=holdfast '));
  }

  async subscribers(channel: string): Promise<number> {
    const reply = await ask(this.redis.port, ['PUBSUB', 'NUMSUB', channel]);
    return Array.isArray(reply) ? Number(reply[1]) : -1;
  }

  publish(channel: string, message: string): Promise<unknown> {
    return ask(this.redis.port, ['PUBLISH', channel, message]);
  }

  /** What `APPEND` has gathered, in the database of this row. */
  async appended(key = 'list'): Promise<string[]> {
    const questions = [
      ['SELECT', String(this.row.database ?? 0)],
      ['LRANGE', key, '0', '-1'],
    ];
    const [, reply = null] = await askAll(this.redis.port, questions);
    return asStrings(reply);
  }
}

/** The failure of a call that must have failed. */
export function failureOf(result: Reply | CallFailure | (() => void)): CallFailure {
  if (result instanceof CallFailure) return result;
  throw new Error(
    `expected a failure, got ${typeof result === 'function' ? 'a subscription' : JSON.stringify(result)}`,
  );
}
