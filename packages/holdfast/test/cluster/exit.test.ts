/** A process that uses a cluster ends by itself, as one that uses a server does. */
import { expect, test } from 'vitest';
import { startChild, useChildren } from '../support/processes/child.ts';
import { CALM, useCluster } from '../support/servers/redis-cluster.ts';

/** Below the timers of a client that would hold the process back: the shortest is two seconds. */
const AT_ONCE_MS = 1_500;

/** Whole processes start and end. */
const LONG = { timeout: 180_000 };

const cluster = useCluster(CALM);
useChildren();

test.each(['closed', 'left open'])(
  'a process whose session is %s exits once it has nothing to do',
  LONG,
  async (how) => {
    const child = startChild<{ leftAfterMs?: number; held?: boolean }>('test/cluster/children/leaver.ts', [
      JSON.stringify({ ports: cluster.ports, isClosed: how === 'closed' }),
    ]);
    const { leftAfterMs } = await child.next((line) => line.leftAfterMs !== undefined);
    expect((await child.exited).code).toBe(0);
    expect(leftAfterMs).toBeLessThan(AT_ONCE_MS);
  },
);

test(
  'a process that is destroyed while no node of the cluster answers exits all the same',
  LONG,
  async () => {
    for (const node of cluster.nodes) node.freeze();
    const child = startChild<{ leftAfterMs?: number; code?: string }>('test/cluster/children/quitter.ts', [
      JSON.stringify({ ports: cluster.ports }),
    ]);
    const { leftAfterMs } = await child.next((line) => line.leftAfterMs !== undefined);
    expect((await child.exited).code).toBe(0);
    expect(child.lines).toContainEqual({ code: 'ELOCKCLOSED' });
    expect(leftAfterMs).toBeLessThan(AT_ONCE_MS);
  },
);
