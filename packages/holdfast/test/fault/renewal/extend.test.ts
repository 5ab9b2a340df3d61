/** An extension that fails, in each way it can: what the owner may still claim, and what the server still has. */
import { describe, expect, test } from 'vitest';
import { LockError, Locks } from '../../../src/index.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { KINDS, type Kind } from '../../support/locks/kind.ts';
import { rejection } from '../../support/rejection.ts';
import { type Fate, ScriptedNode } from '../holder/node.ts';
import { driftMs } from '../holder/support.ts';

const LEASE_MS = 10_000;
const SHORT_MS = 1_000;

useLeakCheck();

async function held(kind: Kind, renew: boolean) {
  const clock = new FakeClock();
  const node = new ScriptedNode(clock);
  const lease = await kind
    .of(new Locks(node, { application: false, clock }), 'name')
    .acquire({ leaseMs: LEASE_MS, renew });
  return { clock, node, lease, signal: lease.signal };
}

/** The next call that states the lease meets the fate; those after it are answered. */
function once(node: ScriptedNode, fate: Fate): void {
  let isMet = false;
  node.fate = ({ verb }) => {
    if (verb !== 'renew' || isMet) return 'answered';
    isMet = true;
    return fate;
  };
}

const FAILURES: readonly { readonly what: string; readonly fate: Fate; readonly code: string }[] = [
  { what: 'is refused', fate: 'refused', code: 'ELOCKUNAVAILABLE' },
  { what: 'finds no server', fate: 'unreachable', code: 'ELOCKUNAVAILABLE' },
  { what: 'gets no answer', fate: 'lost', code: 'ELOCKUNKNOWN' },
  { what: 'happens without an answer', fate: 'reply-lost', code: 'ELOCKUNKNOWN' },
];

describe.each(KINDS)('an extension of a $name', (kind) => {
  test.each(FAILURES)('that $what leaves the lease to its old deadline', async ({ fate, code }) => {
    const { clock, node, lease, signal } = await held(kind, false);
    await clock.advance(SHORT_MS);
    const { remainingMs } = lease;
    once(node, fate);
    const failing = rejection(lease.extend(3 * LEASE_MS));
    await clock.advance(3_000);
    expect(await failing).toMatchObject({ code });
    expect(lease.remainingMs).toBeCloseTo(remainingMs - 3_000, 6);
    await clock.advance(remainingMs - 3_000 - 0.001);
    expect([lease.isHeld, signal.aborted]).toEqual([true, false]);
    // Nothing was sent that could end it.
    expect(node.calls.map(({ verb }) => verb)).toEqual(['acquire', 'renew']);
    await clock.advance(1);
    expect(signal.reason).toMatchObject({ reason: 'expired' });
  });

  test.each(FAILURES)('that $what does not stop the renewal', async ({ fate, code }) => {
    const { clock, node, lease, signal } = await held(kind, true);
    once(node, fate);
    const failing = rejection(lease.extend(3 * LEASE_MS));
    await clock.advance(5 * LEASE_MS);
    expect(await failing).toMatchObject({ code });
    expect([lease.isHeld, signal.aborted]).toEqual([true, false]);
    expect(node.holder('name')).not.toBe(null);
    expect(node.callsTo('release')).toEqual([]);
    expect(await lease.release()).toBe(true);
  });

  test('that shortens a fixed lease and gets no answer ends it at the shorter deadline', async () => {
    const { clock, node, lease, signal } = await held(kind, false);
    once(node, 'reply-lost');
    const sentMs = clock.monotonicMs();
    const failing = rejection(lease.extend(SHORT_MS));
    expect(lease.remainingMs).toBeCloseTo(SHORT_MS - driftMs(SHORT_MS), 6);
    await clock.advance(SHORT_MS - driftMs(SHORT_MS) - 0.001);
    expect(await failing).toMatchObject({ code: 'ELOCKUNKNOWN' });
    expect([lease.isHeld, signal.aborted]).toEqual([true, false]);
    clock.advanceSync(0.001);
    expect(lease.isHeld).toBe(false);
    await clock.advance(1);
    expect(signal.reason).toMatchObject({ reason: 'expired' });
    expect(clock.monotonicMs() - sentMs, 'before the server lets it go').toBeLessThan(SHORT_MS);
  });

  test.each([SHORT_MS, 300, 100])(
    'that shortens a renewed lease to %s ms and gets no answer is followed by a renewal in time',
    async (shortMs) => {
      const { clock, node, lease, signal } = await held(kind, true);
      once(node, 'reply-lost');
      const failing = rejection(lease.extend(shortMs));
      await clock.advance(LEASE_MS);
      expect(await failing).toMatchObject({ code: 'ELOCKUNKNOWN' });
      expect([lease.isHeld, signal.aborted]).toEqual([true, false]);
      expect(await lease.release()).toBe(true);
    },
  );

  test('that shortens, gets no answer and arrives late never lets the owner claim more than the server gives', async () => {
    const { clock, node, lease } = await held(kind, true);
    once(node, { strayMs: 2_000 });
    const failing = rejection(lease.extend(SHORT_MS));
    for (let stepMs = 0; stepMs < 2 * LEASE_MS; stepMs += 50) {
      await clock.advance(50);
      const claimed = lease.isHeld;
      expect(
        claimed && node.holder('name') === null,
        `claimed after ${stepMs} ms, and free on the server`,
      ).toBe(false);
    }
    await failing;
    await lease.release();
  });

  test('that gets an answer that makes no sense fails as an error of ours and does not stop the renewal', async () => {
    const { clock, node, lease, signal } = await held(kind, true);
    await clock.advance(2_000);
    // The answer comes when a renewal would have been due.
    once(node, { nonsenseAfterMs: 1_900 });
    const failing = rejection(lease.extend(LEASE_MS));
    await clock.advance(5 * LEASE_MS);
    expect([lease.isHeld, signal.aborted]).toEqual([true, false]);
    expect(await failing).toBeInstanceOf(LockError);
    expect(await lease.release()).toBe(true);
  });

  test('behind a renewal whose answer makes no sense is sent all the same', async () => {
    const { clock, node, lease } = await held(kind, true);
    once(node, { nonsenseAfterMs: 500 });
    while (node.callsTo('renew').length === 0) await clock.advance(10);
    const extending = lease.extend(3 * LEASE_MS);
    extending.catch(() => {});
    await clock.advance(1_000);
    await extending;
    expect(lease.remainingMs).toBeGreaterThan(2 * LEASE_MS);
    expect(await lease.release()).toBe(true);
  });

  test('that is answered counts from before it was sent', async () => {
    const { clock, node, lease } = await held(kind, false);
    once(node, { replyAfterMs: 400 });
    const extending = lease.extend(3 * LEASE_MS);
    await clock.advance(400);
    await extending;
    expect(lease.remainingMs).toBeCloseTo(3 * LEASE_MS - driftMs(3 * LEASE_MS) - 400, 6);
    expect(await lease.release()).toBe(true);
  });
});
