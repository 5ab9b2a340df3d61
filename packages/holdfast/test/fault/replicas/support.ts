/** A primary and two replicas for the fault tests, and ways to part them. */
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { ask } from '../../support/servers/raw-redis.ts';
import { type RedisServer, stopAllRedis } from '../../support/servers/redis-server.ts';
import { ReplicatedServers } from '../../support/servers/replicated-servers.ts';
import { waitFor } from '../../support/wait-for.ts';

export interface Replication {
  readonly primary: RedisServer;
  readonly replicas: readonly [RedisServer, RedisServer];
  readonly group: ReplicatedServers;
}

/** One group for a test file. Each test finds it whole and in sync, whatever the one before did to it. */
export function useReplication(args: readonly string[] = []): Replication {
  const group = new ReplicatedServers(args);
  beforeAll(() => group.start(), 180_000);
  beforeEach(() => group.gather(group.first), 180_000);
  afterAll(stopAllRedis);
  const [primary, first, second] = group.servers as [RedisServer, RedisServer, RedisServer];
  return { primary, replicas: [first, second], group };
}

/** No server ever listens there. */
const NOWHERE = '1';

/**
 * Cuts the replicas off: they keep what they have, and hear no more of it. Freezing them would not do: what was sent
 * to them meanwhile waits in their sockets.
 */
export async function cutOff({ primary, replicas }: Replication): Promise<void> {
  for (const { port } of replicas) await ask(port, ['REPLICAOF', '127.0.0.1', NOWHERE]);
  await waitFor(async () =>
    /connected_slaves:0/.test(String(await ask(primary.port, ['INFO', 'replication']))),
  );
}

export async function has(server: RedisServer, key: string): Promise<boolean> {
  return (await ask(server.port, ['EXISTS', key])) === 1;
}
