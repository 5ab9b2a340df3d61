/**
 * A TCP connection that went silent, again and again, while new ones work: no lease is lost by it, down to a lease of
 * one second, on one server and by a majority. By a clock of the test's own: a machine that stands still costs a lease
 * too, and is not what this is about.
 */

import { EmbeddedNode, ManualClock } from 'holdfast-testing';
import { afterEach, describe, expect, test } from 'vitest';
import { Locks } from '../../src/index.ts';
import { SilentNetwork } from '../locking/support/silent-network.ts';
import { seeded } from '../support/seeded.ts';

const ROUNDS = 12;

interface World {
  readonly clock: ManualClock;
  readonly networks: readonly SilentNetwork[];
  readonly locks: Locks;
}

const cleanUps: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function world(servers: number, latencyMs: number): Promise<World> {
  const clock = new ManualClock();
  const nodes = Array.from({ length: servers }, () => new EmbeddedNode({ clock }));
  for (const node of nodes) await node.command('PING');
  const networks = nodes.map((node, i) => new SilentNetwork(`server ${i}`, clock, node, latencyMs));
  const clients = networks.map((network) => network.client());
  const [only] = clients;
  const quorum = { clock, restartGuardMs: 0 };
  const locks = servers === 1 && only !== undefined ? new Locks(only, { clock }) : new Locks(clients, quorum);
  cleanUps.push(async () => {
    await locks.destroy();
    for (const node of nodes) await node.close();
  });
  return { clock, networks, locks };
}

async function until<Result>(clock: ManualClock, work: Promise<Result>): Promise<Result> {
  let isSettled = false;
  const settled = work.finally(() => (isSettled = true)).catch(() => {});
  for (let passedMs = 0; !isSettled && passedMs < 60_000; passedMs += 5) await clock.advance(5);
  await settled;
  return work;
}

describe.each([
  { who: 'one server', servers: 1 },
  { who: 'a majority of three', servers: 3 },
])('by $who', ({ servers }) => {
  test.each([
    { leaseMs: 1_000, latencyMs: 0.5 },
    { leaseMs: 1_000, latencyMs: 10 },
    { leaseMs: 3_000, latencyMs: 0.5 },
    { leaseMs: 30_000, latencyMs: 10 },
  ])(
    'a lease of $leaseMs ms outlives its connections, $latencyMs ms away',
    async ({ leaseMs, latencyMs }) => {
      const { clock, networks, locks } = await world(servers, latencyMs);
      const random = seeded(leaseMs + latencyMs + servers);
      const lease = await until(clock, locks.lock('a').acquire({ leaseMs }));
      for (let round = 0; round < ROUNDS; round += 1) {
        // At any point between two renewals, and as rarely as a connection is replaced at most.
        await clock.advance(2_000 + random() * leaseMs);
        expect(lease.isHeld).toBe(true);
        for (const network of networks) network.silence();
        await clock.advance(leaseMs);
        expect({ round, isHeld: lease.isHeld }).toEqual({ round, isHeld: true });
      }
      // One for each time and the first: no storm.
      for (const { made } of networks) expect(made).toBe(ROUNDS + 1);
      expect(await until(clock, lease.release())).toBe(true);
    },
  );

  test('an acquire and a release on a silent connection go on over a new one, and leave nothing behind', async () => {
    const { clock, networks, locks } = await world(servers, 0.5);
    await until(
      clock,
      locks.lock('warm').using(() => {}),
    );
    for (const network of networks) network.silence();
    const lease = await until(clock, locks.lock('a').acquire());
    await clock.advance(2_000);
    for (const network of networks) network.silence();
    await until(clock, Promise.allSettled([lease.release()]));
    const fromMs = clock.monotonicMs();
    await until(
      clock,
      locks.lock('a').using(() => {}),
    );
    // Long before the lease of the first would have run out, after 30 s. By a majority the second caller may meet what the
    // first has left and is still removing. No message comes over this network, so that caller asks again after 5 s at most.
    expect(clock.monotonicMs() - fromMs).toBeLessThan(10_000);
  });
});
