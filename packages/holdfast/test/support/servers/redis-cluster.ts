/**
 * A real Redis Cluster for a test file: three primaries with a replica each. It is put together by hand, which takes
 * a second where `redis-cli --cluster create` takes five; what comes out is the same.
 */
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { SLOTS, slotOf } from '../../../src/keys/slot.ts';
import { waitFor } from '../wait-for.ts';
import type { Certificates } from './certificates.ts';
import { freePort } from './free-port.ts';
import { ask, describeReply } from './raw-redis.ts';
import { RedisServer } from './redis-server.ts';
import { RespError, type RespValue } from './resp.ts';

const PRIMARIES = 3;

/** After this without a sign of life a node is taken for dead. */
const NODE_TIMEOUT_MS = 1_000;

/** For tests in which none dies: a machine that stands still for a second is no failover. */
export const CALM: ClusterOptions = { nodeTimeoutMs: 30_000 };

const ARGS = [
  ...['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf'],
  // A shard that is down is no reason for the others to stop.
  ...['--cluster-require-full-coverage', 'no', '--cluster-allow-replica-migration', 'no'],
  ...['--cluster-replica-validity-factor', '0', '--repl-diskless-sync-delay', '0'],
];

const SETTLE_LIMIT_MS = 60_000;

/** After five seconds a replica forgets that it was asked to take over: where the others were too slow it is asked again. */
const FAILOVER_LAPSES_MS = 6_000;

const NODES = 2 * PRIMARIES;

/** Ports by which a cluster speaks TLS, to its clients and among its nodes. The plain ones stay, for the test itself. */
export interface SecurePorts {
  readonly ports: readonly number[];
  readonly certificates: Certificates;
}

export interface ClusterOptions {
  /** @default null */
  readonly secure?: SecurePorts | null;
  /** After how long without a sign of life a node is taken for dead. @default 1_000 */
  readonly nodeTimeoutMs?: number;
}

export class RedisCluster {
  readonly nodes: readonly RedisServer[];
  readonly #secure: SecurePorts | null;

  constructor({ secure = null, nodeTimeoutMs = NODE_TIMEOUT_MS }: ClusterOptions = {}) {
    this.#secure = secure;
    const patience = ['--cluster-node-timeout', `${nodeTimeoutMs}`];
    this.nodes = Array.from(
      { length: NODES },
      (_, i) => new RedisServer({ args: [...ARGS, ...patience, ...secureArgs(secure, i)] }),
    );
  }

  get ports(): number[] {
    return this.nodes.map(({ port }) => port);
  }

  async start(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.start()));
    const [first, ...others] = this.nodes as [RedisServer, ...RedisServer[]];
    for (const [i, node] of this.nodes.entries()) {
      // Without it two nodes may begin with the same one, and quarrel.
      await command(node, 'CLUSTER', 'SET-CONFIG-EPOCH', `${i + 1}`);
      if (i >= PRIMARIES) continue;
      const from = Math.floor((i * SLOTS) / PRIMARIES);
      const to = Math.floor(((i + 1) * SLOTS) / PRIMARIES) - 1;
      await command(node, 'CLUSTER', 'ADDSLOTSRANGE', `${from}`, `${to}`);
    }
    const meeting = this.#secure?.ports[0] ?? first.port;
    for (const node of others) await command(node, 'CLUSTER', 'MEET', '127.0.0.1', `${meeting}`);
    const knows = async (node: RedisServer): Promise<boolean> =>
      (await this.#lines(node)).filter((line) => !line.includes('handshake')).length === this.nodes.length;
    await this.#all(knows, 'all nodes to know each other');
    for (const [i, replica] of this.nodes.slice(PRIMARIES).entries()) {
      const id = await this.idOf(this.nodes[i] as RedisServer);
      await command(replica, 'CLUSTER', 'REPLICATE', id);
    }
    await this.untilWhole();
  }

  /** Every node is up, agrees with the others, and every primary has a replica that follows. */
  async untilWhole(): Promise<void> {
    const isWhole = async (node: RedisServer): Promise<boolean> => {
      const info = String(await command(node, 'CLUSTER', 'INFO'));
      const lines = await this.#lines(node);
      const replication = String(await command(node, 'INFO', 'replication'));
      const follows = /role:master/.test(replication)
        ? /state=online/.test(replication)
        : /master_link_status:up/.test(replication);
      const primaries = lines.filter((line) => / (myself,)?master /.test(line));
      const isSettled = lines.every((line) => !/fail|handshake|noaddr|\[/.test(line));
      return info.includes('cluster_state:ok') && follows && isSettled && primaries.length === PRIMARIES;
    };
    await this.#all(isWhole, 'the cluster to be whole');
    // All of them must also name the same primaries.
    await waitFor(
      async () => {
        const maps = await Promise.all(this.nodes.map((node) => command(node, 'CLUSTER', 'SLOTS')));
        return new Set(maps.map((map) => JSON.stringify(primaryPorts(map)))).size === 1;
      },
      { limitMs: SETTLE_LIMIT_MS, what: 'the nodes to agree on the slots' },
    );
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  /** Whatever a test did to it, it is whole again. */
  async ensureWhole(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.ensureUp()));
    await this.untilWhole();
  }

  /** The primary that has the slot of a key now, as the first node that is up sees it. */
  async primaryOf(key: string): Promise<RedisServer> {
    return this.primaryOfSlot(slotOf(key));
  }

  async primaryOfSlot(slot: number): Promise<RedisServer> {
    const up = this.nodes.find((node) => node.isRunning && !node.isFrozen);
    if (up === undefined) throw new Error('no node of the cluster is up');
    const map = await command(up, 'CLUSTER', 'SLOTS');
    const entry = (map as RespValue[][]).find(([from, to]) => Number(from) <= slot && slot <= Number(to));
    return this.#at(Number((entry?.[2] as RespValue[] | undefined)?.[1]));
  }

  async primaries(): Promise<RedisServer[]> {
    const slots = Array.from({ length: PRIMARIES }, (_, i) => Math.floor(((i + 0.5) * SLOTS) / PRIMARIES));
    return [...new Set(await Promise.all(slots.map((slot) => this.primaryOfSlot(slot))))];
  }

  async replicaOf(primary: RedisServer): Promise<RedisServer> {
    const id = await this.idOf(primary);
    for (const node of this.nodes) {
      if (node === primary || !node.isRunning) continue;
      const own = (await this.#lines(node)).find((line) => line.includes('myself'));
      if (own?.split(' ')[3] === id) return node;
    }
    throw new Error(`the primary on port ${primary.port} has no replica`);
  }

  idOf(node: RedisServer): Promise<string> {
    return command(node, 'CLUSTER', 'MYID').then(String);
  }

  /** A failover in good order: nothing that was acknowledged is lost. Gives the new primary. */
  async failOver(primary: RedisServer): Promise<RedisServer> {
    const replica = await this.replicaOf(primary);
    let askAgainMs = 0;
    const isPromoted = async (): Promise<boolean> => {
      if (/role:master/.test(String(await command(replica, 'INFO', 'replication')))) return true;
      if (performance.now() < askAgainMs) return false;
      askAgainMs = performance.now() + FAILOVER_LAPSES_MS;
      await command(replica, 'CLUSTER', 'FAILOVER');
      return false;
    };
    await waitFor(isPromoted, { limitMs: SETTLE_LIMIT_MS, what: 'the replica to be promoted' });
    return replica;
  }

  async #all(check: (node: RedisServer) => Promise<boolean>, what: string): Promise<void> {
    await waitFor(async () => (await Promise.all(this.nodes.map(check))).every(Boolean), {
      limitMs: SETTLE_LIMIT_MS,
      what,
    });
  }

  async #lines(node: RedisServer): Promise<string[]> {
    return String(await command(node, 'CLUSTER', 'NODES'))
      .trim()
      .split('\n');
  }

  #at(port: number): RedisServer {
    const node = this.nodes.find((one) => one.port === port);
    if (node === undefined) throw new Error(`no node of the cluster has the port ${port}`);
    return node;
  }
}

function secureArgs(secure: SecurePorts | null, i: number): string[] {
  if (secure === null) return [];
  const { ports, certificates } = secure;
  const everywhere = ['--tls-cluster', 'yes', '--tls-replication', 'yes'];
  return ['--tls-port', `${ports[i]}`, ...everywhere, ...certificates.serverArgs];
}

/** Sends one command to one node; an error reply is an error. */
export async function command(node: RedisServer, ...args: string[]): Promise<RespValue> {
  const reply = await ask(node.port, args);
  if (reply instanceof RespError) throw new Error(`${args.join(' ')}: ${describeReply(reply)}`);
  return reply;
}

function primaryPorts(map: RespValue): unknown {
  return (map as RespValue[][])
    .map(([from, to, primary]) => [from, to, (primary as RespValue[])[1]])
    .sort((a, b) => Number(a[0]) - Number(b[0]));
}

/** Several of those, one after the other. */
const HOOK_LIMIT_MS = 3 * SETTLE_LIMIT_MS;

/** One cluster for a test file. Each test finds it whole, whatever the one before did to it. */
export function useCluster(options: ClusterOptions = {}): RedisCluster {
  const cluster = new RedisCluster(options);
  beforeAll(() => cluster.start(), HOOK_LIMIT_MS);
  beforeEach(() => cluster.ensureWhole(), HOOK_LIMIT_MS);
  afterAll(() => cluster.stop());
  return cluster;
}

export async function securePorts(certificates: Certificates): Promise<SecurePorts> {
  const ports: number[] = [];
  for (let i = 0; i < NODES; i += 1) ports.push(await freePort());
  return { ports, certificates };
}
