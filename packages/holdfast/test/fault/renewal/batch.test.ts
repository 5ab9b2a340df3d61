/** Many leases of one session: renewed in few calls of bounded size, and one of them in trouble is alone with it. */
import { describe, expect, test } from 'vitest';
import { type Lease, LockLostError, Locks } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { KINDS, LOCK, MUTEX } from '../../support/locks/kind.ts';
import { warmUp } from '../../support/locks/warm-up.ts';
import { rejection } from '../../support/rejection.ts';
import { ask, askAll } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { steady } from '../../support/steady.ts';
import { waitFor } from '../../support/wait-for.ts';
import { ScriptedNode } from '../holder/node.ts';

const LEASES = 300;
const BATCH_MAX = 128;
const LEASE_MS = 3_000;
/** On a real server: long enough to live through most stalls of the machine. */
const STEADY_LEASE_MS = 6_000;

const server = useRedis();
useLeakCheck(server);
const bench = useBench();
const STEADY = steady();

/** What a stall of the machine takes from a lease says so itself. Nothing else does. */
function throwIfExpired({ signal }: Lease): void {
  const { reason } = signal;
  if (reason instanceof LockLostError && reason.reason === 'expired') throw reason;
}

test.each([
  { client: 'ioredis', kind: LOCK },
  { client: 'node-redis', kind: MUTEX },
] as const)(
  '300 leases of a $kind.name on $client are renewed in few calls of at most 128 names, and one that is gone disturbs no other',
  STEADY,
  async ({ client, kind }) => {
    const proxy = await bench.proxy(server.port);
    const locks = await bench.session(proxy.port, { client });
    // A lease counts from when it was asked for, and a first connection takes its time.
    await warmUp(locks, kind);
    const name = bench.name();
    const names = Array.from({ length: LEASES }, (_, i) => `${name}:${i}`);
    const leases: Lease[] = await Promise.all(
      names.map((each) => kind.of(locks, each).acquire({ leaseMs: STEADY_LEASE_MS })),
    );
    const told: string[] = [];
    for (const lease of leases) lease.signal.addEventListener('abort', () => told.push(lease.name));
    const renewals = () => proxy.history.filter(kind.renews);
    const namesIn = (args: readonly string[]) =>
      args.slice(3, 3 + Number(args[2])).filter((key) => !key.startsWith('redisson_lock_token:'));
    const renewed = () => new Set(renewals().flatMap(namesIn));

    const isRenewed = (): boolean => renewed().size === LEASES || told.length > 0;
    await waitFor(isRenewed, { what: 'every lease to be renewed' });
    leases.forEach(throwIfExpired);
    const victim = names[150] ?? '';
    await askAll(server.port, [
      ['DEL', victim],
      ['RPUSH', victim, 'something else'],
    ]);
    proxy.clearHistory();
    const beforeMs = performance.now();
    await waitFor(() => performance.now() - beforeMs > STEADY_LEASE_MS, { what: 'a lease' });
    const watchedMs = performance.now() - beforeMs;

    leases.forEach(throwIfExpired);
    expect(told).toEqual([victim]);
    expect(leases.filter(({ isHeld }) => !isHeld).map((lease) => lease.name)).toEqual([victim]);
    const again = renewed();
    expect(names.filter((each) => each !== victim && !again.has(each))).toEqual([]);
    for (const args of renewals()) expect(namesIn(args).length).toBeLessThanOrEqual(BATCH_MAX);
    // Three batches for 300 names, renewed at a third of the lease and up to a third sooner; the rest is for batches
    // that a busy machine has split.
    const callsPerSecond = renewals().length / (watchedMs / 1_000);
    expect(callsPerSecond).toBeLessThan(10);

    const released = await Promise.all(leases.map((lease) => lease.release()));
    expect(released.filter((wasOurs) => !wasOurs).length).toBe(1);
    await ask(server.port, ['DEL', victim]);
  },
);

describe.each(KINDS)('of many leases of a $name', (kind) => {
  test('one whose extension hangs leaves the others renewed', async () => {
    const clock = new FakeClock();
    const node = new ScriptedNode(clock);
    const locks = new Locks(node, { application: false, clock });
    const [hanging, ...others] = await Promise.all(
      ['hanging', 'b', 'c'].map(
        (name): Promise<Lease> => kind.of(locks, name).acquire({ leaseMs: LEASE_MS }),
      ),
    );
    node.fate = ({ verb, keys }) => (verb === 'renew' && keys.includes('hanging') ? 'lost' : 'answered');
    const failing = hanging && rejection(hanging.extend(LEASE_MS));
    await clock.advance(LEASE_MS / 2);
    expect(others.map(({ remainingMs }) => remainingMs > LEASE_MS / 2)).toEqual([true, true]);
    await failing;
    // From now on they share their batches again, and all suffer alike; alone the hanging one would be lost too.
    node.fate = () => 'answered';
    await clock.advance(5 * LEASE_MS);
    expect([hanging, ...others].map((lease) => lease?.isHeld)).toEqual([true, true, true]);
    for (const lease of [hanging, ...others]) expect(await lease?.release()).toBe(true);
  });

  test('one with a short lease beside one with a long lease does not make the long one busy', async () => {
    const clock = new FakeClock();
    const node = new ScriptedNode(clock);
    const locks = new Locks(node, { application: false, clock });
    const short = await kind.of(locks, 'short').acquire({ leaseMs: 300 });
    const long = await kind.of(locks, 'long').acquire({ leaseMs: 30_000 });
    await clock.advance(60_000);
    const callsFor = (name: string) => node.callsTo('renew').filter(({ keys }) => keys.includes(name)).length;
    expect(callsFor('short')).toBeLessThanOrEqual((4 * 60_000) / 300);
    expect(callsFor('short')).toBeGreaterThanOrEqual((3 * 60_000) / 300 - 1);
    expect(callsFor('long')).toBeLessThanOrEqual(10);
    expect([short.isHeld, long.isHeld]).toEqual([true, true]);
    for (const lease of [short, long]) expect(await lease.release()).toBe(true);
  });
});
