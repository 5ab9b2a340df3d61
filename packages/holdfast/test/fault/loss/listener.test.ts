/** Listeners to a loss that throw, reject or take their time: everybody else's lease is none of their business. */
import { describe, expect, test } from 'vitest';
import { type Lease, Locks } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { KINDS, type Kind } from '../../support/locks/kind.ts';
import { useChildren } from '../../support/processes/child.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { ScriptedNode } from '../holder/node.ts';
import { SLOW, startHolder } from '../holder/process.ts';

const LEASE_MS = 1_000;

const server = useRedis();
useLeakCheck(server);
const bench = useBench();
useChildren();

/** Three owners in one batch, of which the one that is looked at first finds its lock gone. */
async function three(kind: Kind) {
  const clock = new FakeClock();
  const node = new ScriptedNode(clock);
  const locks = new Locks(node, { application: false, clock });
  const leases = await Promise.all(
    ['a', 'b', 'c'].map((name): Promise<Lease> => kind.of(locks, name).acquire({ leaseMs: LEASE_MS })),
  );
  const batched = new Promise<readonly string[]>((resolve) => {
    node.fate = ({ verb, keys }) => {
      if (verb !== 'renew' || node.callsTo('renew').length > 1) return 'answered';
      node.delete(keys[0] ?? '');
      resolve(keys);
      return { replyAfterMs: 10 };
    };
  });
  while (node.callsTo('renew').length === 0) await clock.advance(1);
  const order = await batched;
  expect(order.length).toBe(3);
  const [lost, ...others] = order.map((name) => leases.find((lease) => lease.name === name) as Lease);
  return { clock, node, lost: lost as Lease, others: others as [Lease, Lease] };
}

describe.each(KINDS)('of a $name, a listener', (kind) => {
  test('that takes longer than the others had left does not cost them the renewal that is already answered', async () => {
    const { clock, lost, others } = await three(kind);
    // When the listener returns, the lease that the others had before that answer is over.
    lost.signal.addEventListener('abort', () => clock.advanceSync(0.8 * LEASE_MS));
    while (!lost.signal.aborted) await clock.advance(1);
    expect(others.map(({ isHeld, signal }) => [isHeld, signal.aborted])).toEqual([
      [true, false],
      [true, false],
    ]);
    await clock.advance(5 * LEASE_MS);
    expect(others.map(({ isHeld }) => isHeld)).toEqual([true, true]);
    for (const lease of others) expect(await lease.release()).toBe(true);
  });

  test('finds everything settled: its lease is over, and it may release another', async () => {
    const { clock, node, lost, others } = await three(kind);
    const seen: unknown[] = [];
    lost.signal.addEventListener('abort', () => {
      seen.push(lost.isHeld, lost.remainingMs, others[0].isHeld);
      void lost.release().then((wasOurs) => seen.push(wasOurs));
      void others[0].release().then((wasOurs) => seen.push(wasOurs));
    });
    while (!lost.signal.aborted) await clock.advance(1);
    await clock.advance(5 * LEASE_MS);
    expect(seen).toEqual([false, 0, true, false, true]);
    expect(node.callsTo('release').map(({ keys }) => keys[0])).toEqual([others[0].name]);
    expect(others.map(({ isHeld }) => isHeld)).toEqual([false, true]);
    expect(await others[1].release()).toBe(true);
  });
});

test(
  'listeners that throw, reject or are slow stop neither the next listener nor the renewal of others',
  SLOW,
  async () => {
    // The slow listener takes a quarter of it, and a busy machine must not take the rest.
    const leaseMs = 6 * LEASE_MS;
    const order = { task: 'listeners', client: 'node-redis', leaseMs } as const;
    const { name, child } = await startHolder({ ...order, port: server.port, name: bench.name() });
    for (let i = 1; i < 3; i += 1) await child.next(({ is }) => is === 'held');
    await ask(server.port, ['DEL', `${name}:a`]);
    expect(await child.next(({ is }) => is === 'heard')).toMatchObject({ isHeld: false });
    const heardMs = performance.now();
    const texts: unknown[] = [];
    while (texts.length < 3) texts.push((await child.next(({ is }) => is === 'uncaught')).text);
    expect(texts.sort()).toEqual(['the listener fails', 'the listener rejects', 'the subscriber fails']);
    // The others outlive what they had left when it happened.
    await waitFor(() => performance.now() - heardMs > leaseMs, { what: 'a lease' });
    child.send('go on');
    expect(await child.next(({ is }) => is === 'end')).toMatchObject({ held: [true, true] });
    expect(await child.exited).toEqual({ code: 0, signal: null });
  },
);
