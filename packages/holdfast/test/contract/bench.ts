/**
 * The bench of one rule: names that no other rule has, sessions and clients that end with it, and a look at what it
 * leaves behind. Rules with a bench each can run at the same time on one server.
 */

import type { EmbeddedNode } from 'holdfast-testing';
import { type Cluster, Redis } from 'ioredis';
import { Locks, type LocksOptions } from '../../src/index.ts';
import { Bench } from '../support/bench.ts';
import { type Kind, lineOf } from '../support/locks/kind.ts';
import type { FaultProxy } from '../support/proxies/fault-proxy.ts';
import type { SentinelGroup } from '../support/servers/sentinel-group.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Access } from './access.ts';
import { type Caller, inProcess, several } from './callers.ts';
import { shardOf } from './cluster-observer.ts';
import type { Row } from './matrix.ts';
import { majorityOf } from './quorum-observer.ts';

/** The servers of a row, and the way to them. */
export interface RowServers {
  readonly row: Row;
  /** Of the first server, which is the only one of most rows. */
  readonly port: number;
  readonly ports: readonly number[];
  /** The server, when it is one in this process. */
  readonly node: EmbeddedNode | null;
  /** Who names the server, when sentinels do. */
  readonly sentinels: SentinelGroup | null;
  /** What callers must say to get in. */
  readonly access: Access;
  /** The test's own connection, in the caller's database: not one of the clients under test. */
  readonly redis: Redis;
  /** The test's own connection to each of several servers that decide; one to all of them is `redis`. */
  readonly voters: readonly Redis[];
}

/** Why a rule cannot be asked of this row. Not a failure: the end of the row tells which rules were declined. */
export class Declined extends Error {}

export interface MessageLog {
  /** Every message since the last call, in order. */
  taken(): Promise<string[]>;
}

const REACH_LIMIT_MS = 60_000;
/** After it a vote that has not come is asked for again. */
const VOTE_LIMIT_MS = 250;
/** Said by the bench itself behind everything that was published before it. */
const THE_END = 'the end';

export class ContractBench extends Bench {
  readonly redis: Redis;
  readonly port: number;
  readonly #voters: readonly Redis[];
  readonly #ports: readonly number[];
  readonly #row: Row;
  readonly #access: Access;
  readonly #node: EmbeddedNode | null;
  readonly #sentinels: SentinelGroup | null;
  readonly #id: string;
  readonly #foreignKeys = new Set<string>();

  constructor({ row, port, ports, node, sentinels, access, redis, voters }: RowServers, id: string) {
    super(`${id}:`);
    this.#access = access;
    this.#ports = ports;
    this.#row = row;
    this.#node = node;
    this.#sentinels = sentinels;
    this.#id = id;
    this.port = port;
    this.redis = redis;
    this.#voters = voters;
    this.onEnd(async () => {
      if (this.#foreignKeys.size > 0) await this.redis.del(...this.#foreignKeys);
    });
  }

  /** The ports of all servers that decide. */
  get servers(): readonly number[] {
    return this.#ports;
  }

  get isCluster(): boolean {
    return this.#row.isCluster === true;
  }

  get isQuorum(): boolean {
    return !this.isCluster && this.#ports.length > 1;
  }

  get isReplicated(): boolean {
    return this.#sentinels !== null;
  }

  /** The smallest `callTimeoutMs`: where replicas must confirm, a share of it is theirs. */
  get callTimeoutMsMin(): number {
    return this.#row.options?.replicas === undefined ? 1 : 2;
  }

  /** Labels with a brace without its partner, where names can have one; a cluster refuses such names. */
  unpaired(labels: readonly string[], others: readonly string[] = []): string[] {
    return [...(this.isCluster ? [] : labels), ...others];
  }

  /** The Redis key of a lock name. */
  key(name: string): string {
    return (this.#row.keyPrefix ?? '') + (this.#row.options?.prefix ?? '') + name;
  }

  /** The Redis key of a lock name that the test itself will write to; removed at the end. */
  foreignKey(name: string): string {
    const key = this.key(name);
    this.#foreignKeys.add(key);
    return key;
  }

  /** Sends one command to the servers that have its key. */
  readonly send = (...[verb = '', ...args]: string[]): Promise<unknown> => this.redis.call(verb, ...args);

  async caller(port = this.port): Promise<Caller> {
    const { connect, db = 0, keyPrefix = '' } = this.#row;
    const options = { port, db, keyPrefix, node: this.#node, sentinels: this.#sentinels, ...this.#access };
    const caller = await (this.isQuorum ? several(connect, this.#ports, options) : connect(options));
    this.onEnd(() => caller.close());
    return caller;
  }

  /** A session as of a process of its own: with a client of its own. It has reached the servers already. */
  session(options: LocksOptions = {}): Promise<Locks> {
    const opening = this.caller().then((caller) => this.#reached(this.sessionOn(caller, options)));
    // A rule that ends early may have left it on its way.
    this.onEnd(() => opening.catch(() => {}));
    return opening;
  }

  /** A session whose way to the server can be disturbed. */
  async sessionBehindProxy(): Promise<{ locks: Locks; proxy: FaultProxy }> {
    if (this.#row.connect === inProcess) throw new Declined('there is no connection that could be disturbed');
    if (this.isCluster) throw new Declined('one of several nodes is disturbed: see the tests of the cluster');
    if (this.isReplicated) throw new Declined('the sentinels lead past whatever could disturb it');
    if (this.isQuorum) throw new Declined('one of several servers is disturbed: see the tests of the quorum');
    if (this.#access.ca !== undefined) throw new Declined('what is encrypted cannot be disturbed half-way');
    const proxy = await this.proxy(this.port);
    return { proxy, locks: await this.#reached(this.sessionOn(await this.caller(proxy.port))) };
  }

  /** A session that has not been used. */
  sessionOn(caller: Caller, options: LocksOptions = {}): Locks {
    const locks = new Locks(caller.client, { application: false, ...this.#row.options, ...options });
    this.onEnd(() => locks.close());
    return locks;
  }

  /** On a busy machine connecting takes longer than the shortest waits. */
  async #reached(locks: Locks): Promise<Locks> {
    for (const name of this.#nameOnEveryNode()) {
      await waitFor(async () => (await locks.inspect(name)) === null, { limitMs: REACH_LIMIT_MS });
    }
    if (this.#row.options?.replicas !== undefined) {
      // What counts replicas has a connection of its own.
      const counted = (): Promise<true> => locks.mutex(this.name('counted')).using(() => true as const);
      await waitFor(counted, { limitMs: REACH_LIMIT_MS });
    }
    if (this.isQuorum) await this.#assembled(locks);
    return locks;
  }

  /** A first use waits for a majority, and for the others a moment only: from here on every server votes. */
  async #assembled(locks: Locks): Promise<void> {
    const name = this.name('assembled');
    const key = this.key(name);
    const votes = (): Promise<number[]> => Promise.all(this.#voters.map((redis) => redis.exists(key)));
    await waitFor(
      async () => {
        // Without renewal, which would give a vote to a server that is not asked for one.
        await using _lease = await locks.mutex(name).acquire({ renew: false });
        // The last vote may be on its way when the lock is granted.
        return await waitFor(async () => (await votes()).every((count) => count === 1), {
          limitMs: VOTE_LIMIT_MS,
          what: 'a vote of every server',
        });
      },
      { limitMs: REACH_LIMIT_MS },
    );
  }

  /** Names of which each node has one: in a cluster a session has a connection to each node. */
  #nameOnEveryNode(): string[] {
    if (!this.isCluster) return [this.name('nothing')];
    const cluster = this.redis as unknown as Cluster;
    const names = new Map<Redis, string>();
    while (names.size < this.#ports.length) {
      const name = this.name('nothing');
      names.set(shardOf(cluster, this.key(name)), name);
    }
    return [...names.values()];
  }

  /** Every key of this test. */
  async keys(): Promise<string[]> {
    return (await this.redis.keys(`*${this.#id}:*`)).sort();
  }

  /** What a key holds, whatever its type. */
  async content(key: string): Promise<unknown> {
    const type = await this.redis.type(key);
    const read: Readonly<Record<string, () => Promise<unknown>>> = {
      string: () => this.redis.getBuffer(key),
      hash: () => this.redis.hgetall(key),
      list: () => this.redis.lrange(key, 0, -1),
      set: async () => (await this.redis.smembers(key)).sort(),
      zset: () => this.redis.zrange(key, '0', '-1', 'WITHSCORES'),
    };
    return [type, await read[type]?.()];
  }

  /** How many connections listen for the release of that name. */
  async listeners(kind: Kind, name: string): Promise<number> {
    const [, count] = await this.redis.pubsub('NUMSUB', kind.channel(this.key(name)));
    return Number(count);
  }

  /** How many sessions wait for that name: those in the line, or in a quorum, which has none, those that listen. */
  async waiting(kind: Kind, name: string): Promise<number> {
    if (this.isQuorum) return this.listeners(kind, name);
    const fields = await this.redis.hkeys(lineOf(this.key(name)));
    return fields.filter((field) => /^\d+$/.test(field)).length;
  }

  /** Resolves when that many sessions wait for the name. */
  async untilWaiting(kind: Kind, name: string, sessions = 1): Promise<void> {
    await waitFor(async () => (await this.waiting(kind, name)) === sessions, {
      what: `${sessions} sessions to wait for ${name}`,
      // A session that could not listen at once tries again after a sleep of a few seconds.
      limitMs: 60_000,
    });
  }

  /** Resolves when nobody owns the name any more. */
  async untilFree(name: string, limitMs = 5_000): Promise<void> {
    const key = this.key(name);
    await waitFor(async () => (await this.redis.exists(key)) === 0, { what: `${key} to be free`, limitMs });
  }

  /** Keeps what is published on a channel of Redis from now on. Of several servers, what a majority has published. */
  async messagesOn(channel: string): Promise<MessageLog> {
    const logs = await Promise.all(this.#subscribers(channel).map((redis) => this.#heard(redis, channel)));
    let [ends, taken] = [0, 0];
    return {
      taken: async () => {
        // Messages of one channel come in order: once this one is here, so is everything before it.
        await this.redis.publish(channel, THE_END);
        ends += 1;
        await waitFor(() => logs.every((log) => log.filter((text) => text === THE_END).length === ends));
        // From the beginning: what one server was behind with the last time is no news now.
        const told = logs.map((log) => log.filter((text) => text !== THE_END));
        const agreed = majorityOf(told);
        if (agreed === undefined) throw new Error(`no majority told the same: ${JSON.stringify(told)}`);
        const fresh = agreed.slice(taken);
        taken = agreed.length;
        return fresh;
      },
    };
  }

  async #heard(redis: Redis, channel: string): Promise<readonly string[]> {
    this.onEnd(() => redis.quit());
    const messages: string[] = [];
    for (const event of ['message', 'smessage']) {
      redis.on(event, (_channel: string, message: string) => messages.push(message));
    }
    if (this.isCluster) await redis.ssubscribe(channel);
    else await redis.subscribe(channel);
    return messages;
  }

  /** One for each server that publishes on the channel. */
  #subscribers(channel: string): Redis[] {
    // In a cluster a channel of a shard is heard at the node that has its slot.
    if (this.isCluster) return [shardOf(this.redis as unknown as Cluster, channel).duplicate()];
    const ports = this.isQuorum ? this.#ports : [this.port];
    return ports.map((port) => new Redis({ host: '127.0.0.1', port }));
  }

  /** The words of operators stay for as long as the leases that they ended would have: always with an expiry. */
  async clearWords(): Promise<void> {
    const keys = (await this.keys()).filter((key) => key.startsWith('holdfast_revoked:'));
    for (const key of keys) {
      if ((await this.redis.pttl(key)) === -1) throw new Error(`${key} has no expiry`);
      await this.redis.del(key);
    }
  }

  /** Removes what a rule that failed has left on the server. */
  async sweep(): Promise<void> {
    const keys = await this.keys();
    if (keys.length > 0) await this.redis.del(...keys);
  }

  /** Nothing is left of this test on the server once everything has ended. */
  async expectNoLeaks(): Promise<void> {
    const look = async (): Promise<string[]> => {
      // The counters of fences outlive their locks by design.
      const keys = (await this.keys()).filter((key) => !key.startsWith('redisson_lock_token:'));
      const channels = (await this.redis.pubsub('CHANNELS', `*${this.#id}:*`)) as string[];
      return [
        ...keys.map((key) => `the key ${key}`),
        ...channels.map((channel) => `a listener to ${channel}`),
      ];
    };
    // Closed sockets are noticed by the server a moment later.
    await waitFor(async () => (await look()).length === 0).catch(async () => {
      const leaks = await look();
      if (leaks.length > 0) throw new Error(`the test left behind:\n- ${leaks.join('\n- ')}`);
    });
  }
}
