/** Processes that use a cluster: they end by themselves, as those do that use a server, and cost the others little when killed. */
import { Cluster } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { Locks, type LocksOptions } from '../../src/index.ts';
import { lineKey } from '../../src/keys/name.ts';
import { allServed } from '../support/locks/served.ts';
import { wokenBy } from '../support/locks/woken.ts';
import { startChild, useChildren } from '../support/processes/child.ts';
import { CALM, command, useCluster } from '../support/servers/redis-cluster.ts';
import { steady } from '../support/steady.ts';
import { waitFor } from '../support/wait-for.ts';

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

const CLAIM_MS = 1_000;
/** The first two in line ask again this soon. */
const ASK_MS = 1_000;

function open(options: LocksOptions): Locks {
  const client = new Cluster(
    cluster.ports.map((port) => ({ host: '127.0.0.1', port })),
    { lazyConnect: true },
  );
  const locks = new Locks(client, { application: false, leaseMs: 60_000, callTimeoutMs: 20_000, ...options });
  onTestFinished(() => locks.close());
  return locks;
}

async function untilInLine(name: string, count: number): Promise<void> {
  const places = async (): Promise<number> => {
    const fields = (await command(await cluster.primaryOf(name), 'HKEYS', lineKey(name))) as unknown[];
    return fields.filter((field) => /^\d+$/.test(String(field))).length;
  };
  await waitFor(async () => (await places()) === count, { what: `${count} in line`, limitMs: 60_000 });
}

test.each([
  // The server sees that nobody listens, so that the claim, however long, costs nothing.
  { pubsub: 'sharded', claimMs: 30_000, cost: 'nothing' },
  { pubsub: 'plain', claimMs: CLAIM_MS, cost: 'a claim and a second at most' },
] as const)(
  'a process that is killed while it is first in line costs the others $cost, with $pubsub channels',
  { ...steady(), ...LONG },
  async ({ pubsub, claimMs }) => {
    const name = `killed:${pubsub}`;
    const [owner, other] = [open({ pubsub }), open({ pubsub })];
    await other.lock('warm').using(() => {});
    const lease = await owner.lock(name).acquire();
    const victim = startChild('test/cluster/children/waiter.ts', [
      JSON.stringify({ ports: cluster.ports, name, pubsub, claimMs }),
    ]);
    await untilInLine(name, 1);
    const next = other.lock(name).acquire();
    await untilInLine(name, 2);
    expect(await victim.kill()).toMatchObject({ signal: 'SIGKILL' });
    if (pubsub === 'sharded') {
      const served = await wokenBy(name, () => lease.release(), next);
      expect(await served.release()).toBe(true);
    } else {
      expect(await lease.release()).toBe(true);
      expect(await allServed([next])).toBeLessThan(CLAIM_MS + ASK_MS);
    }
  },
);
