/** Safety rules 6, 7 and 9 as far as the client keeps them; what the scripts do about them is tested in Lua. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LEASE_MS_MAX } from '../../src/options/options.ts';
import { TIMER_MS_MAX } from '../../src/runtime/clock.ts';
import { hangs } from './support/scripted-client.ts';
import { SEED } from './support/seed.ts';
import { Stage } from './support/stage.ts';

describe('rule 6: only what is ours is released', () => {
  test('an owner whose lease ran out leaves the next owner alone', async () => {
    const stage = new Stage();
    const [first, second] = [stage.process(), stage.process()];
    first.client.from('any', hangs());
    first.client.next('lock.acquire', { effectMs: 0, answerMs: 0 });
    const lost = await first.lock('a').acquire({ leaseMs: 500 });
    await stage.clock.advance(600);
    const held = await second.lock('a').acquire();
    first.client.heal();
    expect(await lost.release()).toBe(false);
    await stage.clock.advance(10_000);
    expect([held.isHeld, stage.server.owner('a')]).toEqual([true, `${second.session.id}:1`]);
  });
});

describe('rule 7: never a lock without a time to live', () => {
  test('every request that makes or keeps one states a lease of at least a millisecond', async () => {
    const stage = new Stage();
    const process = stage.process();
    const [lock, mutex] = [process.lock('a'), process.mutex('m')];
    const lease = await lock.acquire({ leaseMs: 300 });
    const inner = await lock.acquire({ within: lease });
    const plain = await mutex.acquire({ leaseMs: 300 });
    await stage.clock.advance(1_000);
    await lease.extend(40);
    const stated = process.client.calls.flatMap(({ script, args }) => {
      if (script === 'lock.recount') return [args[2]];
      return script.endsWith('.acquire') || script.endsWith('.renew') ? [args[1]] : [];
    });
    expect(stated.length).toBeGreaterThan(6);
    expect(stated.every((leaseMs) => /^[1-9]\d*$/.test(leaseMs ?? ''))).toBe(true);
    await Promise.all([inner.release(), lease.release(), plain.release()]);
  });

  test.each([TIMER_MS_MAX, TIMER_MS_MAX + 1, 40 * 24 * 3_600_000, LEASE_MS_MAX])(
    'a lease of %d ms is kept and told to the millisecond, although no timer is that long',
    async (leaseMs) => {
      const stage = new Stage();
      const process = stage.process();
      const fixed = await process.lock('a').acquire({ leaseMs, renew: false });
      const validMs = leaseMs * 0.99 - 2;
      // The clocks are compared every second; that long a time is passed at once.
      stage.clock.advanceSync(validMs - 2_000);
      await stage.clock.advance(1_990);
      expect([fixed.isHeld, fixed.signal.aborted]).toEqual([true, false]);
      await stage.clock.advance(11);
      expect([fixed.isHeld, fixed.signal.aborted]).toEqual([false, true]);
      expect(stage.server.owner('a')).toBe(null);
    },
  );

  test('no lease makes a storm of renewals, from the shortest to a month', async () => {
    for (const leaseMs of [10, 20, 50, 100, 1_000, 30_000, 30 * 24 * 3_600_000]) {
      const stage = new Stage();
      const process = stage.process();
      const lease = await process.lock('a').acquire({ leaseMs });
      const periodMs = Math.min(10 * leaseMs, 60_000);
      await stage.clock.advance(periodMs);
      const renewals = process.client.sent('lock.renew').length;
      expect([leaseMs, lease.isHeld]).toEqual([leaseMs, true]);
      expect(renewals).toBeLessThanOrEqual(Math.ceil((periodMs / leaseMs) * 4));
    }
  });
});

describe('rule 9: fences grow', () => {
  test('from owner to owner, across processes, hand-overs and counters that are lost', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ who: fc.nat(2), callers: fc.integer({ min: 1, max: 5 }), gapMs: fc.nat(3) }), {
          maxLength: 12,
        }),
        async (turns) => {
          const stage = new Stage();
          const processes = [
            stage.process(),
            stage.process({ handovers: 0 }),
            stage.process({ handovers: 2 }),
          ];
          const fences: number[] = [];
          for (const { who, callers, gapMs } of turns) {
            const lock = (processes[who] as (typeof processes)[number]).lock('a');
            await stage.clock.advance(gapMs);
            const work = Array.from({ length: callers }, () =>
              lock.using(async ({ fence }) => {
                fences.push(fence);
              }),
            );
            await stage.until(Promise.all(work));
          }
          expect(fences).toHaveLength(turns.reduce((sum, { callers }) => sum + callers, 0));
          expect(fences.every((fence, i) => i === 0 || fence > (fences[i - 1] ?? 0))).toBe(true);
        },
      ),
      { seed: SEED, numRuns: 50 },
    );
  });

  test('and a re-entry keeps the fence of the owner above', async () => {
    const process = new Stage().process();
    const lock = process.lock('a');
    const lease = await lock.acquire();
    const inner = await lock.acquire({ within: lease });
    expect(inner.fence).toBe(lease.fence);
  });

  test('and a mutex has none', async () => {
    const lease = await new Stage().process().mutex('m').acquire();
    expect(Reflect.get(lease, 'fence')).toBe(undefined);
  });
});
