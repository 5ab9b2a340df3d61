/** A fixed lease ends on its time: entering and leaving the lock again does not move its end. */
import { describe, expect, test } from 'vitest';
import { answers, losesAnswer } from './support/scripted-client.ts';
import { Stage } from './support/stage.ts';

const LEASE_MS = 500;
/** What drift leaves of it. */
const VALID_MS = 493;

describe('a fixed lease', () => {
  test('ends when it would have ended without the re-entries', async () => {
    const stage = new Stage();
    const process = stage.process();
    const lock = process.lock('a');
    const lease = await lock.acquire({ leaseMs: LEASE_MS, renew: false });
    const { signal } = lease;
    for (let passedMs = 100; passedMs < LEASE_MS; passedMs += 100) {
      await stage.clock.advance(100);
      const inner = await lock.acquire({ within: lease });
      expect([inner.remainingMs, stage.server.ttlMs('a')]).toEqual([
        VALID_MS - passedMs,
        LEASE_MS - passedMs,
      ]);
      expect(await inner.release()).toBe(true);
      expect([lease.remainingMs, stage.server.ttlMs('a')]).toEqual([
        VALID_MS - passedMs,
        LEASE_MS - passedMs,
      ]);
    }
    await stage.clock.advance(100);
    expect([lease.isHeld, signal.aborted]).toEqual([false, true]);
    expect(signal.reason).toMatchObject({ code: 'ELOCKLOST', reason: 'expired' });
    expect((signal.reason as Error).message).toBe(
      'lock "a": lost after 493 ms, at the end of its fixed lease of 500 ms',
    );
  });

  test('is not prolonged by a count that had to be stated twice', async () => {
    const stage = new Stage();
    const process = stage.process();
    const lock = process.lock('a');
    const lease = await lock.acquire({ leaseMs: LEASE_MS, renew: false });
    await stage.clock.advance(100);
    process.client.next('lock.recount', losesAnswer(5));
    const inner = await stage.until(lock.acquire({ within: lease }));
    expect(process.client.sent('lock.recount')).toHaveLength(2);
    const passedMs = stage.clock.monotonicMs() - 1_000;
    expect([inner.remainingMs, stage.server.ttlMs('a')]).toEqual([VALID_MS - passedMs, LEASE_MS - passedMs]);
  });

  test('that was extended ends then, and no re-entry moves that end either', async () => {
    const stage = new Stage();
    const process = stage.process();
    const lock = process.lock('a');
    const lease = await lock.acquire({ leaseMs: LEASE_MS, renew: false });
    await lease.extend(2_000);
    await stage.clock.advance(1_000);
    await (await lock.acquire({ within: lease })).release();
    expect([lease.remainingMs, stage.server.ttlMs('a')]).toEqual([978, 1_000]);
  });

  test('is whole for the next local caller, whatever the one before it has entered', async () => {
    const stage = new Stage();
    const process = stage.process({ handoverMs: 10_000 });
    const lock = process.lock('a');
    // Both wait, so that the one that is served first reserves a fence for the other.
    stage.server.occupy('a', 100);
    const first = lock.acquire({ leaseMs: LEASE_MS, renew: false });
    const waiting = lock.acquire({ leaseMs: LEASE_MS, renew: false });
    const lease = await stage.until(first);
    await stage.clock.advance(200);
    const inner = await lock.acquire({ within: lease });
    // Its answer comes after the lock has been handed over.
    process.client.next('lock.recount', answers(20));
    void inner.release();
    void lease.release();
    const next = await stage.until(waiting);
    expect(next.fence).toBe(lease.fence + 1);
    expect(process.client.sent('lock.renew')).toHaveLength(1);
    expect([next.remainingMs, stage.server.ttlMs('a')]).toEqual([VALID_MS, LEASE_MS]);
  });

  test('is told from one that is renewed, which a re-entry still prolongs', async () => {
    const stage = new Stage();
    const process = stage.process();
    const lock = process.lock('a');
    const lease = await lock.acquire({ leaseMs: 3_000 });
    await stage.clock.advance(500);
    await lock.acquire({ within: lease });
    expect([lease.remainingMs, stage.server.ttlMs('a')]).toEqual([2_968, 3_000]);
  });
});
