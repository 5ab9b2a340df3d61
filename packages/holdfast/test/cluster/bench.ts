/** A cluster for the tests of a file, with sessions that end with each test. */

import { afterEach, beforeEach } from 'vitest';
import { Locks, type LocksOptions } from '../../src/index.ts';
import { lineKey } from '../../src/keys/name.ts';
import { Bench } from '../support/bench.ts';
import { command, type RedisCluster, useCluster } from '../support/servers/redis-cluster.ts';
import type { RedisServer } from '../support/servers/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { type ClusterCaller, type ClusterCallerOptions, type ClusterFlavour, IOREDIS_6 } from './callers.ts';

/** Where a test is not about it: longer than a busy machine takes for a first call, which is refused when it takes too long. */
const CALL_TIMEOUT_MS = 5_000;

type Count = 'NUMSUB' | 'SHARDNUMSUB';

export class ClusterBench extends Bench {
  readonly cluster: RedisCluster;

  constructor(cluster: RedisCluster) {
    super();
    this.cluster = cluster;
  }

  async caller(
    flavour: ClusterFlavour = IOREDIS_6,
    options: ClusterCallerOptions = {},
  ): Promise<ClusterCaller> {
    const caller = await flavour.make(this.cluster.ports, options);
    this.onEnd(() => caller.end());
    return caller;
  }

  sessionOn({ client }: ClusterCaller, options: LocksOptions = {}): Locks {
    const locks = new Locks(client, { application: false, callTimeoutMs: CALL_TIMEOUT_MS, ...options });
    this.onEnd(() => locks.close());
    return locks;
  }

  /** A session as of a process of its own, with a client of its own. */
  async session(options: LocksOptions = {}, flavour?: ClusterFlavour): Promise<Locks> {
    return this.sessionOn(await this.caller(flavour), options);
  }

  /** Where a session hears that it has become the owner of a name. */
  mailbox({ session }: Locks, name: string): string {
    return `${lineKey(name)}:${session}`;
  }

  /** How many connections listen to a channel, over the nodes that answer. */
  async listeners(channel: string, count: Count = 'SHARDNUMSUB'): Promise<number> {
    const up = this.cluster.nodes.filter((node) => node.isRunning && !node.isFrozen);
    const counts = await Promise.all(up.map((node) => listenersAt(node, channel, count)));
    return counts.reduce((sum, each) => sum + each, 0);
  }

  async untilListening(channel: string, wanted = 1, count?: Count): Promise<void> {
    await waitFor(async () => (await this.listeners(channel, count)) === wanted, {
      what: `${wanted} listeners of ${channel}`,
      limitMs: 30_000,
    });
  }

  /** Resolves when the one waiter of a channel is heard at that very node. */
  async untilListeningAt(node: RedisServer, channel: string, limitMs = 20_000): Promise<void> {
    await waitFor(async () => (await listenersAt(node, channel, 'SHARDNUMSUB')) === 1, {
      limitMs,
      what: `a listener of ${channel} on port ${node.port}`,
    });
  }
}

async function listenersAt(node: RedisServer, channel: string, count: Count): Promise<number> {
  const reply = await command(node, 'PUBSUB', count, channel);
  return Number((reply as unknown[])[1]);
}

export function useClusterBench(): ClusterBench {
  const bench = new ClusterBench(useCluster());
  beforeEach(async () => {
    for (const node of bench.cluster.nodes) await command(node, 'SCRIPT', 'FLUSH');
  });
  afterEach(() => bench.end());
  return bench;
}
