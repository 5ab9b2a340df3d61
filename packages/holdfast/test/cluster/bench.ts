/** A cluster for the tests of a file, with sessions that end with each test. */
import { afterEach, beforeEach } from 'vitest';
import { Locks, type LocksOptions } from '../../src/index.ts';
import { command, type RedisCluster, useCluster } from '../support/servers/redis-cluster.ts';
import { waitFor } from '../support/wait-for.ts';
import { type ClusterCaller, type ClusterFlavour, IOREDIS_6 } from './callers.ts';

export class ClusterGround {
  readonly cluster: RedisCluster;
  readonly #sessions: Locks[] = [];
  readonly #callers: ClusterCaller[] = [];

  constructor(cluster: RedisCluster) {
    this.cluster = cluster;
  }

  /** A session as of a process of its own, with a client of its own. */
  async locks(options: LocksOptions = {}, flavour: ClusterFlavour = IOREDIS_6): Promise<Locks> {
    const caller = await flavour.make(this.cluster.ports);
    this.#callers.push(caller);
    const locks = new Locks(caller.client, options);
    this.#sessions.push(locks);
    return locks;
  }

  /** How many connections listen to a channel, over all nodes: `NUMSUB` or `SHARDNUMSUB`. */
  async listeners(channel: string, how: 'NUMSUB' | 'SHARDNUMSUB' = 'SHARDNUMSUB'): Promise<number> {
    const up = this.cluster.nodes.filter((node) => node.isRunning && !node.isFrozen);
    const counts = await Promise.all(up.map((node) => command(node, 'PUBSUB', how, channel)));
    return counts.reduce<number>((sum, reply) => sum + Number((reply as unknown[])[1]), 0);
  }

  async untilListening(channel: string, count = 1, how?: 'NUMSUB' | 'SHARDNUMSUB'): Promise<void> {
    await waitFor(async () => (await this.listeners(channel, how)) === count, {
      what: `${count} listeners of ${channel}`,
      limitMs: 10_000,
    });
  }

  async clear(): Promise<void> {
    await Promise.all(this.#sessions.splice(0).map((locks) => locks.close()));
    await Promise.all(this.#callers.splice(0).map((caller) => caller.end()));
  }
}

export function useClusterGround(): ClusterGround {
  const ground = new ClusterGround(useCluster());
  beforeEach(async () => {
    for (const node of ground.cluster.nodes) await command(node, 'SCRIPT', 'FLUSH');
  });
  afterEach(() => ground.clear());
  return ground;
}

/** Where the waiters of a lock listen, by Redisson's rule. */
export function channelOf(name: string): string {
  return `redisson_lock__channel:{${name}}`;
}
