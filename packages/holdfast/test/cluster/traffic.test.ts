/** What a cluster is sent: as little as one server is. */
import { Cluster } from 'ioredis';
import { expect, test } from 'vitest';
import type { Locks } from '../../src/index.ts';
import { LOCK } from '../support/locks/kind.ts';
import { warmUp } from '../support/locks/warm-up.ts';
import { type CommandCounts, commandCounts } from '../support/servers/commands.ts';
import { elapse } from '../support/wait-for.ts';
import { useClusterBench } from './bench.ts';
import { IOREDIS_6 } from './callers.ts';

const bench = useClusterBench();

/** Long enough to live through most stalls of the machine. */
const LEASE_MS = 4_500;
/** Within this a lease that is held is renewed. */
const RENEWED_MS = LEASE_MS / 3;

/** A caller that never connects its own client: whatever arrives is ours. */
const QUIET = {
  ...IOREDIS_6,
  async make(ports: readonly number[]) {
    const nodes = ports.map((port) => ({ host: '127.0.0.1', port }));
    const client = new Cluster(nodes, { lazyConnect: true });
    return { client, ping: () => client.ping(), end: () => client.disconnect() };
  },
};

const quietly = (): Promise<Locks> => bench.session({}, QUIET);

/** What their replicas say to them, and what our looking costs. */
const NOT_OURS = ['ping', 'replconf', 'info', 'publish'];

async function countAll(): Promise<CommandCounts[]> {
  return Promise.all((await bench.cluster.primaries()).map((node) => commandCounts(node)));
}

/** Calls over all primaries, without those that scripts make. */
async function sent(counts: readonly CommandCounts[]): Promise<Record<string, number>> {
  const total: Record<string, number> = {};
  const inScripts = /^(time|exists|pttl|hlen|hgetall|hexists|hset|hdel|pexpire|get|set|del|spublish)$/;
  for (const delta of await Promise.all(counts.map((one) => one.delta()))) {
    for (const [name, calls] of Object.entries(delta)) {
      if (!NOT_OURS.includes(name) && !inScripts.test(name)) total[name] = (total[name] ?? 0) + calls;
    }
  }
  return total;
}

test('a lone acquire and release are two commands once the nodes are known', async () => {
  const locks = await quietly();
  for (let i = 0; i < 30; i += 1) await locks.lock(`warm:${i}`).using(() => {});
  const counts = await countAll();
  for (let i = 0; i < 30; i += 1) await locks.lock(`warm:${i}`).using(() => {});
  expect(await sent(counts)).toEqual({ evalsha: 60 });
});

test('a node is asked for nothing before one of its names is wanted, and the map is read once', async () => {
  const locks = await quietly();
  // Looked up before anything is counted: the test itself asks for the map.
  const primaries = await bench.cluster.primaries();
  const own = async (name: string): Promise<number> => primaries.indexOf(await bench.cluster.primaryOf(name));
  const [first, second] = [await own('one'), await own('two')];
  expect(second).not.toBe(first);
  const counts = await countAll();
  // Any node may be asked for the map, a replica too.
  const everywhere = await Promise.all(bench.cluster.nodes.map((node) => commandCounts(node)));
  const mapReads = async (): Promise<number> => (await sent(everywhere))['cluster|slots'] ?? 0;
  const perNode = async (): Promise<number[]> =>
    Promise.all(
      counts.map(async (one) => {
        const { evalsha = 0, eval: texts = 0 } = await sent([one]);
        return evalsha + texts;
      }),
    );
  await locks.lock('one').using(() => {});
  const maps = await mapReads();
  // Of the node that is asked first, and once more of the next if that one takes its time.
  expect(maps).toBeGreaterThanOrEqual(1);
  expect(maps).toBeLessThanOrEqual(3);
  // An acquire and a release, each by its hash and by its text.
  expect(await perNode()).toEqual(primaries.map((_, i) => (i === first ? 4 : 0)));
  await locks.lock('two').using(() => {});
  expect(await perNode()).toEqual(primaries.map((_, i) => (i === first || i === second ? 4 : 0)));
  expect(await mapReads()).toBe(maps);
});

test('nothing is sent after a release, and nobody listens on the public channel', async () => {
  const [locks, other] = await Promise.all([quietly(), quietly()]);
  await Promise.all([locks, other].map((one) => warmUp(one, LOCK, 'quiet')));
  const lease = await locks.lock('quiet').acquire({ leaseMs: LEASE_MS });
  const waiting = other.lock('quiet').acquire({ leaseMs: LEASE_MS });
  await bench.untilListening(bench.mailbox(other, 'quiet'));
  await lease.release();
  await (await waiting).release();
  await bench.untilListening(LOCK.channel('quiet'), 0);
  const counts = await countAll();
  await elapse(1.2 * RENEWED_MS);
  const { evalsha, 'cluster|slots': maps } = await sent(counts);
  expect([evalsha, maps]).toEqual([undefined, undefined]);
});

test('fifty callers of one name cost far fewer commands than acquisitions', async () => {
  const locks = await quietly();
  await locks.lock('contended').using(() => {});
  const counts = await countAll();
  await Promise.all(Array.from({ length: 50 }, () => locks.lock('contended').using(() => {})));
  const { evalsha = 0 } = await sent(counts);
  expect(evalsha).toBeLessThan(20);
});
