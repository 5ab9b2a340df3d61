/**
 * Turns a row of the matrix into a `test` whose rules get a bench each.
 *
 * Many rules need a machine that keeps time. On a shared one a process or a server may stand still for longer than
 * a short lease lasts; the lease is then rightly lost, a call rightly without an answer. A rule that fails beside
 * such a stall has not been tested, and is tried again; the end of the row tells which ones were. What must never
 * happen, stall or not, is a `Violation`, and that is never tried again.
 */

import { EmbeddedNode } from 'holdfast-testing';
import { Redis } from 'ioredis';
import { afterAll, test as base, beforeAll, expect } from 'vitest';
import { fenceCounter } from '../support/locks/kind.ts';
import { CALM, useCluster } from '../support/servers/redis-cluster.ts';
import { startRedis, stopAllRedis, useRedis } from '../support/servers/redis-server.ts';
import { NEVER_DOWN_MS, SentinelGroup } from '../support/servers/sentinel-group.ts';
import { isViolation } from '../support/violation.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Access, type Restriction, type RestrictionKind, restrict } from './access.ts';
import { ContractBench, Declined, type RowServers } from './bench.ts';
import { clusterObserver } from './cluster-observer.ts';
import { MachineWatch } from './machine-watch.ts';
import type { Row } from './matrix.ts';
import { quorumObserver } from './quorum-observer.ts';

export interface RuleOptions {
  /** The longest stall that the rule must bear. @default 500 */
  readonly stallMs?: number;
}

type Rule = (given: { readonly bench: ContractBench }) => Promise<void>;

export type ContractTest = (title: string, rule: Rule, options?: RuleOptions) => void;

/** For rules with leases of a few hundred milliseconds. */
export const PUNCTUAL: RuleOptions = { stallMs: 80 };

const STALL_MS_DEFAULT = 500;
/** Each of them beside a stall. The matrix runs on machines that have more to do. */
const TRIES_MAX = 10;
const RULE_LIMIT_MS = 180_000;

interface RowExtras {
  readonly node?: EmbeddedNode | null;
  readonly sentinels?: SentinelGroup | null;
  readonly accessOf?: () => Access;
}

/** The servers of a row, the test's own connection to them, and a look at what the whole row leaves behind. */
class RowRun implements RowServers {
  readonly row: Row;
  readonly node: EmbeddedNode | null;
  readonly sentinels: SentinelGroup | null;
  readonly #accessOf: () => Access;
  readonly #portsOf: () => readonly [number, ...number[]];
  readonly #retried: string[] = [];
  readonly #declined: string[] = [];
  #redis: Redis | undefined;
  #voters: readonly Redis[] = [];
  #watch: MachineWatch | undefined;
  #benches = 0;

  constructor(
    row: Row,
    portsOf: () => readonly [number, ...number[]],
    { node = null, sentinels = null, accessOf = () => ({}) }: RowExtras = {},
  ) {
    this.row = row;
    this.node = node;
    this.sentinels = sentinels;
    this.#portsOf = portsOf;
    this.#accessOf = accessOf;
  }

  get access(): Access {
    return this.#accessOf();
  }

  get port(): number {
    return this.#portsOf()[0];
  }

  get ports(): readonly number[] {
    return this.#portsOf();
  }

  get redis(): Redis {
    if (this.#redis === undefined) throw new Error('the server of this row is not up yet: ask inside a test');
    return this.#redis;
  }

  get voters(): readonly Redis[] {
    return this.#voters;
  }

  async open(): Promise<void> {
    this.#redis = await this.#observer();
    this.#watch = new MachineWatch(this.#redis);
  }

  async #observer(): Promise<Redis> {
    if (this.row.isCluster === true) return clusterObserver(this.port);
    const connect = (port: number): Redis => new Redis({ host: '127.0.0.1', port, db: this.row.db ?? 0 });
    const [first, ...others] = this.#portsOf();
    const voters = [connect(first), ...others.map(connect)] as const;
    this.#voters = voters;
    return quorumObserver(voters);
  }

  async close(): Promise<void> {
    if (this.#retried.length > 0)
      console.info(`${this.row.title}, tried again:\n- ${this.#retried.join('\n- ')}`);
    if (this.#declined.length > 0)
      console.info(`${this.row.title}, declined:\n- ${this.#declined.join('\n- ')}`);
    await this.#watch?.end();
    await this.#expectClean().finally(() => this.redis.quit());
  }

  async run(title: string, rule: Rule, options: RuleOptions): Promise<void> {
    const { stallMs = STALL_MS_DEFAULT } = options;
    for (let tries = 1; ; tries += 1) {
      const beganMs = performance.now();
      const [outcome] = await Promise.allSettled([this.#attempt(rule)]);
      if (outcome.status === 'fulfilled') return;
      if (outcome.reason instanceof Declined) {
        this.#declined.push(`${title}: ${outcome.reason.message}`);
        return;
      }
      const worstMs = (await this.#watch?.longestSince(beganMs)) ?? 0;
      if (worstMs <= stallMs || tries === TRIES_MAX || isViolation(outcome.reason)) throw outcome.reason;
      this.#retried.push(`${title} (a stall of ${Math.round(worstMs)} ms; ${String(outcome.reason)})`);
    }
  }

  async #attempt(rule: Rule): Promise<void> {
    this.#benches += 1;
    const bench = new ContractBench(this, `t${this.#benches}`);
    try {
      const [ruled] = await Promise.allSettled([rule({ bench })]);
      const [cleared] = await Promise.allSettled([bench.end()]);
      // What the rule found comes first: a clean-up that fails behind a violation must not take its place.
      for (const outcome of [ruled, cleared]) if (outcome.status === 'rejected') throw outcome.reason;
      // Not after a failure: a rule that failed half-way leaves much behind, and has told its reason.
      await bench.expectNoLeaks();
    } catch (error) {
      // What it left would be held against the whole row, although the rule may be tried again.
      await bench.sweep();
      throw error;
    }
  }

  /** Nothing but the caller's database and prefix is touched, and no connection of ours stays. */
  async #expectClean(): Promise<void> {
    const { db = 0, keyPrefix = '', options } = this.row;
    const keyspace = await this.redis.info('keyspace');
    const databases = [...keyspace.matchAll(/^db(\d+):/gm)].map(([, number]) => Number(number));
    expect(databases.filter((number) => number !== db)).toEqual([]);
    const prefix = fenceCounter(keyPrefix + (options?.prefix ?? '')).slice(0, -1);
    expect((await this.redis.keys('*')).filter((key) => !isCounterUnder(key, prefix))).toEqual([]);
    const connections = async (): Promise<string[]> =>
      String(await this.redis.client('LIST'))
        .split('\n')
        .filter((line) => line.includes(' name=holdfast'));
    await waitFor(async () => (await connections()).length === 0, {
      what: 'all connections of closed sessions to go',
    }).catch(async () => expect(await connections()).toEqual([]));
  }
}

/** Names with a brace of their own have none of ours in their counter. */
function isCounterUnder(key: string, prefix: string): boolean {
  return key.startsWith(prefix) || key.startsWith(prefix.replace('{', ''));
}

function useServer(row: Row): RowRun {
  const options = row.program === undefined ? {} : { program: row.program };
  const first = useRedis(options);
  const others = Array.from({ length: (row.servers ?? 1) - 1 }, () => useRedis(options));
  return new RowRun(row, () => [first.port, ...others.map(({ port }) => port)]);
}

function useClusterRow(row: Row): RowRun {
  const cluster = useCluster(CALM);
  // The first three are its primaries: no rule changes that.
  return new RowRun(row, () => cluster.ports.slice(0, 3) as [number, number, number]);
}

/** A server that does not let everybody in. The test's own connection is let in as usual. */
function useRestricted(row: Row, kind: RestrictionKind): RowRun {
  let restriction: Restriction | undefined;
  let port = 0;
  beforeAll(async () => {
    restriction = await restrict(kind);
    ({ port } = await startRedis({ args: restriction.serverArgs }));
  });
  afterAll(stopAllRedis);
  return new RowRun(row, () => [port], { accessOf: () => restriction?.access ?? {} });
}

function useEmbedded(row: Row): RowRun {
  const node = new EmbeddedNode();
  let listening = 0;
  beforeAll(async () => {
    ({ port: listening } = await node.listen());
  });
  afterAll(() => node.close());
  return new RowRun(row, () => [listening], { node });
}

/** The one that is the primary at first stays it: what a failover does is told elsewhere. */
function useSentinelGroup(row: Row): RowRun {
  const sentinels = new SentinelGroup(NEVER_DOWN_MS);
  beforeAll(() => sentinels.start(), RULE_LIMIT_MS);
  afterAll(stopAllRedis);
  return new RowRun(row, () => [sentinels.group.first.port], { sentinels });
}

function runOf(row: Row): RowRun {
  if (row.isBySentinels === true) return useSentinelGroup(row);
  if (row.isEmbedded === true) return useEmbedded(row);
  if (row.restriction !== undefined) return useRestricted(row, row.restriction);
  return row.isCluster === true ? useClusterRow(row) : useServer(row);
}

/** Call it inside the `describe` of the row. */
export function useRow(row: Row): ContractTest {
  const run = runOf(row);
  beforeAll(() => run.open());
  afterAll(() => run.close());
  return (title, rule, options = {}) => {
    base(title, { timeout: RULE_LIMIT_MS }, () => run.run(title, rule, options));
  };
}
