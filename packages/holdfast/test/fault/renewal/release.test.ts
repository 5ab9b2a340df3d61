/**
 * A renewal or an extension that is under way while its owner releases: it cannot bring the lock back, nothing is
 * sent or planned afterwards, and nobody is told of a loss that was none. On a fake clock, to the call.
 */
import { describe, expect, test } from 'vitest';
import { CHANNELS, LockNotHeldError, Locks } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { KINDS, type Kind } from '../../support/locks/kind.ts';
import { rejection } from '../../support/rejection.ts';
import { type Fate, ScriptedNode } from '../holder/node.ts';

const LEASE_MS = 1_000;

useLeakCheck();
const bench = useBench();

/** An owner whose first renewal, or extension, is under way and meets that fate. */
async function midRenewal(kind: Kind, fate: Fate, isExtension: boolean) {
  const clock = new FakeClock();
  const node = new ScriptedNode(clock);
  node.fate = ({ verb }) => (verb === 'renew' ? fate : 'answered');
  const lease = await kind
    .of(new Locks(node, { application: false, clock }), 'name')
    .acquire({ leaseMs: LEASE_MS });
  const { signal } = lease;
  const extending = isExtension ? rejection(lease.extend(LEASE_MS)) : null;
  while (node.callsTo('renew').length === 0) await clock.advance(10);
  return { clock, node, lease, signal, extending };
}

const FATES: readonly { readonly what: string; readonly fate: Fate }[] = [
  { what: 'succeeded and is answered late', fate: { replyAfterMs: 50 } },
  { what: 'comes behind the release', fate: { arriveAfterMs: 50 } },
  { what: 'is refused', fate: 'refused' },
  { what: 'gets no answer', fate: 'reply-lost' },
  { what: 'arrives when it was given up', fate: { strayMs: 700 } },
  { what: 'gets an answer that makes no sense', fate: { nonsenseAfterMs: 50 } },
];

describe.each(KINDS)('the release of a $name', (kind) => {
  test.each(FATES)('is final although a renewal under way $what', async ({ fate }) => {
    const { clock, node, lease, signal } = await midRenewal(kind, fate, false);
    const abandoned = bench.diagnostics(CHANNELS.abandoned);
    const callsBefore = node.calls.length;
    expect(await lease.release()).toBe(true);
    expect(clock.refdTimers, 'timers that keep the process alive').toBe(0);
    await clock.advance(10 * LEASE_MS);
    expect(node.calls.slice(callsBefore).map(({ verb }) => verb)).toEqual(['release']);
    expect(node.holder('name')).toBe(null);
    expect(signal.aborted).toBe(false);
    expect(lease.isHeld).toBe(false);
    expect(clock.pendingTimers, 'timers').toBe(0);
    // Nor was it looked at again: a renewal that finds nobody behind a hold says so.
    expect(abandoned).toEqual([]);
  });

  test.each(FATES.filter(({ fate }) => fate !== 'refused'))(
    'is final although an extension under way $what',
    async ({ fate }) => {
      const { clock, node, lease, signal, extending } = await midRenewal(kind, fate, true);
      const callsBefore = node.calls.length;
      expect(await lease.release()).toBe(true);
      await clock.advance(10 * LEASE_MS);
      expect(await extending).toBeInstanceOf(LockNotHeldError);
      expect(node.calls.slice(callsBefore).map(({ verb }) => verb)).toEqual(['release']);
      expect(node.holder('name')).toBe(null);
      expect(signal.aborted).toBe(false);
      expect(clock.pendingTimers, 'timers').toBe(0);
    },
  );

  test('lets an extension that waited behind a renewal send nothing', async () => {
    const { clock, node, lease } = await midRenewal(kind, { replyAfterMs: 50 }, false);
    const extending = rejection(lease.extend(LEASE_MS));
    const releasing = lease.release();
    await clock.advance(10 * LEASE_MS);
    expect(await releasing).toBe(true);
    expect(await extending).toBeInstanceOf(LockNotHeldError);
    expect(node.callsTo('renew').length).toBe(1);
  });

  test('of one lease leaves the others renewed', async () => {
    const clock = new FakeClock();
    const node = new ScriptedNode(clock);
    const locks = new Locks(node, { application: false, clock });
    const [released, kept] = await Promise.all(
      ['released', 'kept'].map((name) => kind.of(locks, name).acquire({ leaseMs: LEASE_MS })),
    );
    // Both are in the same batch, and it is under way.
    node.fate = ({ verb }) => (verb === 'renew' ? { replyAfterMs: 50 } : 'answered');
    while (node.callsTo('renew').length === 0) await clock.advance(10);
    expect(node.callsTo('renew')[0]?.keys).toEqual(['released', 'kept']);
    expect(await released?.release()).toBe(true);
    await clock.advance(5 * LEASE_MS);
    const later = node.callsTo('renew').slice(1);
    expect(later.length).toBeGreaterThan(10);
    expect(new Set(later.flatMap(({ keys }) => keys))).toEqual(new Set(['kept']));
    expect([kept?.isHeld, kept?.signal.aborted]).toEqual([true, false]);
    expect(await kept?.release()).toBe(true);
  });
});
