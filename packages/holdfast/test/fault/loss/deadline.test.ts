/**
 * The deadline of a lease to the millisecond, on a fake clock: counted from before the winning request was sent,
 * moved by nothing but an answered renewal, and passed as soon as either of the machine's clocks says so.
 */
import { describe, expect, test } from 'vitest';
import { type Lease, Locks } from '../../../src/index.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { KINDS, type Kind } from '../../support/locks/kind.ts';
import { type Fate, ScriptedNode } from '../holder/node.ts';
import { driftMs } from '../holder/support.ts';

const LEASE_MS = 1_000;
const VALID_MS = LEASE_MS - driftMs(LEASE_MS);
/** Timers count whole milliseconds, and one that was armed between two of them fires at the next. */
const TIMER_MS = 1;
/** How soon a machine that slept is noticed. */
const CLOCK_CHECK_MS = 1_000;

useLeakCheck();

const scene = (kind: Kind) => {
  const clock = new FakeClock();
  const node = new ScriptedNode(clock);
  const locks = new Locks(node, { application: false, clock });
  return { clock, node, lock: kind.of(locks, 'name') };
};

/** Whatever becomes of renewals, this is when the owner must hear that it cannot claim the lock any more. */
async function expectLossAt(clock: FakeClock, lease: Lease, inMs: number): Promise<void> {
  const { signal } = lease;
  await clock.advance(inMs - 0.001);
  expect([lease.isHeld, signal.aborted], 'just before the deadline').toEqual([true, false]);
  clock.advanceSync(0.001);
  expect(lease.isHeld, 'at the deadline').toBe(false);
  await clock.advance(TIMER_MS);
  expect(signal.reason).toMatchObject({ code: 'ELOCKLOST', reason: 'expired' });
}

const SILENT_FATES: readonly { readonly what: string; readonly fate: Fate }[] = [
  { what: 'gets no answer', fate: 'lost' },
  { what: 'gets no answer although the server runs it', fate: 'reply-lost' },
  { what: 'is refused by the server', fate: 'refused' },
  { what: 'finds no server', fate: 'unreachable' },
  { what: 'gets an answer that makes no sense', fate: { nonsenseAfterMs: 1 } },
];

describe.each(KINDS)('a $name', (kind) => {
  test.each(SILENT_FATES)('is lost at t0 + lease - drift when every renewal $what', async ({ fate }) => {
    const { clock, node, lock } = scene(kind);
    node.fate = ({ verb }) => (verb === 'renew' ? fate : 'answered');
    const lease = await lock.acquire({ leaseMs: LEASE_MS });
    await expectLossAt(clock, lease, VALID_MS);
    // Retried while time remained, and not in a storm.
    expect(node.callsTo('renew').length).toBeGreaterThan(1);
    expect(node.callsTo('renew').length).toBeLessThan(40);
  });

  test('with a fixed lease is lost at t0 + lease - drift, and nothing is sent to keep it', async () => {
    const { clock, node, lock } = scene(kind);
    const lease = await lock.acquire({ leaseMs: LEASE_MS, renew: false });
    await expectLossAt(clock, lease, VALID_MS);
    expect(node.callsTo('renew')).toEqual([]);
  });

  test('counts its lease from before the request was sent, not from the answer', async () => {
    const { clock, node, lock } = scene(kind);
    node.fate = ({ verb }) => (verb === 'acquire' ? { replyAfterMs: 400 } : 'lost');
    const acquiring = lock.acquire({ leaseMs: LEASE_MS });
    await clock.advance(400);
    await expectLossAt(clock, await acquiring, VALID_MS - 400);
  });

  test('counts a renewal from before it was sent, not from the answer', async () => {
    const { clock, node, lock } = scene(kind);
    const lease = await lock.acquire({ leaseMs: LEASE_MS });
    let renewals = 0;
    node.fate = ({ verb }) => {
      if (verb === 'renew') renewals += 1;
      return renewals === 1 ? { replyAfterMs: 100 } : 'lost';
    };
    await clock.advance(LEASE_MS / 2);
    const [first] = node.callsTo('renew');
    expect(first, 'a renewal by half of the lease').toBeDefined();
    await expectLossAt(clock, lease, (first?.atMs ?? 0) + VALID_MS - clock.monotonicMs());
  });

  test('is not lost by errors that pass while time remains', async () => {
    const { clock, node, lock } = scene(kind);
    const lease = await lock.acquire({ leaseMs: LEASE_MS });
    let calls = 0;
    // Two of three renewals fail, each in another way.
    node.fate = ({ verb }) => {
      if (verb !== 'renew') return 'answered';
      calls += 1;
      return calls % 3 === 0 ? 'answered' : (SILENT_FATES[calls % SILENT_FATES.length]?.fate ?? 'answered');
    };
    await clock.advance(20 * LEASE_MS);
    expect([lease.isHeld, lease.signal.aborted]).toEqual([true, false]);
    expect(node.ttlMs('name')).toBeGreaterThan(0);
    expect(await lease.release()).toBe(true);
  });

  test.each([{ renew: true }, { renew: false }])(
    'is not held at once after the machine slept past its lease, and is told within a second ($renew)',
    async ({ renew }) => {
      const { clock, lock } = scene(kind);
      const lease = await lock.acquire({ leaseMs: 30_000, renew });
      const { signal } = lease;
      await clock.advance(5_000);
      clock.suspend(30_000);
      expect(lease.isHeld).toBe(false);
      expect(lease.remainingMs).toBe(0);
      await clock.advance(CLOCK_CHECK_MS + TIMER_MS);
      expect(signal.reason).toMatchObject({ code: 'ELOCKLOST', reason: 'expired' });
      expect(await lease.release()).toBe(false);
    },
  );

  test('with a fixed lease, after a sleep that left some of it, is told when that is over', async () => {
    const { clock, lock } = scene(kind);
    const lease = await lock.acquire({ leaseMs: 30_000, renew: false });
    const { signal } = lease;
    clock.suspend(20_000);
    await clock.advance(30_000 - driftMs(30_000) - 20_000 - 0.001);
    expect([lease.isHeld, signal.aborted]).toEqual([true, false]);
    await clock.advance(TIMER_MS);
    expect(lease.isHeld).toBe(false);
    expect(signal.aborted).toBe(true);
  });

  test('with renewal, after a sleep that left some of its lease, is renewed in what is left', async () => {
    const { clock, node, lock } = scene(kind);
    const lease = await lock.acquire({ leaseMs: 30_000 });
    await clock.advance(1_000);
    // Awake with 4 s left, while the next renewal was planned 9 s ahead.
    clock.suspend(30_000 - driftMs(30_000) - 1_000 - 4_000);
    await clock.advance(20_000);
    expect([lease.isHeld, lease.signal.aborted]).toEqual([true, false]);
    expect(node.ttlMs('name')).toBeGreaterThan(0);
    expect(await lease.release()).toBe(true);
  });

  test('is not lost when the wall clock is set back', async () => {
    const { clock, lock } = scene(kind);
    const lease = await lock.acquire({ leaseMs: LEASE_MS, renew: false });
    clock.jumpWall(-3_600_000);
    await expectLossAt(clock, lease, VALID_MS);
  });
});
