/** Safety rules 1 and 2: until when a lease may be claimed, and who says so. */
import { describe, expect, test } from 'vitest';
import { LockLostError, LockUnavailableError } from '../../src/errors.ts';
import { LEASE_MS_MIN } from '../../src/options/options.ts';
import { rejection } from '../support/rejection.ts';
import { answers, hangs, losesAnswer } from './support/scripted-client.ts';
import { Stage } from './support/stage.ts';

describe('rule 1: a lease is counted from before sending', () => {
  test('although the answer came late', async () => {
    const stage = new Stage();
    const { client, lock } = open(stage);
    client.next('lock.acquire', answers(400));
    const lease = await stage.until(lock.acquire({ leaseMs: 1_000, renew: false }));
    expect(lease.remainingMs).toBe(1_000 - 12 - 400);
    expect(stage.server.ttlMs('a')).toBe(800);
  });

  test('and a renewal likewise', async () => {
    const stage = new Stage();
    const { client, lock } = open(stage);
    const lease = await lock.acquire({ leaseMs: 3_000 });
    client.next('lock.renew', answers(300));
    await stage.clock.advance(1_000);
    const { sentMs } = client.sent('lock.renew')[0] ?? { sentMs: 0 };
    await stage.clock.advance(sentMs + 300 - stage.clock.monotonicMs());
    expect(lease.remainingMs).toBeCloseTo(3_000 - 32 - 300, 6);
  });

  test('and an extension likewise', async () => {
    const stage = new Stage();
    const { client, lock } = open(stage);
    const lease = await lock.acquire({ leaseMs: 3_000 });
    client.next('lock.renew', answers(200));
    await stage.until(lease.extend(5_000));
    expect(lease.remainingMs).toBeCloseTo(5_000 - 52 - 200, 6);
  });

  test('and a re-entry likewise, which never shortens it', async () => {
    const stage = new Stage();
    const { client, lock } = open(stage);
    const lease = await lock.acquire({ leaseMs: 3_000 });
    await stage.clock.advance(500);
    client.next('lock.recount', answers(100));
    const inner = await stage.until(lock.acquire({ within: lease, leaseMs: 100 }));
    expect(inner.remainingMs).toBeCloseTo(3_000 - 32 - 100, 6);
    expect(lease.remainingMs).toBe(inner.remainingMs);
  });

  test('so that a grant whose answer took the whole lease is not handed out, and is given back', async () => {
    const stage = new Stage();
    const { client, lock } = open(stage);
    client.next('lock.acquire', { effectMs: 10, answerMs: 300 });
    const error = await stage.until(rejection(lock.tryAcquire({ leaseMs: 300 })));
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect((error as Error).message).toMatch(/lock "a": .*the answer took 300 ms of a lease of 300 ms/);
    await stage.clock.settle();
    expect(stage.server.keys).toEqual([]);
  });

  test('and the smallest lease that is allowed can be had, and extended to', async () => {
    const stage = new Stage();
    const { lock } = open(stage);
    const lease = await lock.acquire({ leaseMs: LEASE_MS_MIN, renew: false });
    expect(lease.remainingMs).toBe(1);
    await lease.extend(LEASE_MS_MIN);
    expect([lease.isHeld, lease.remainingMs]).toEqual([true, 1]);
    await expect(lease.extend(LEASE_MS_MIN - 1)).rejects.toMatchObject({ code: 'ELOCKCONFIG' });
  });

  // Found by the simulator, with one node and seed 6003600.
  test('nor is one with less than a millisecond left, which is over when its owner looks', async () => {
    const stage = new Stage();
    const { client, lock } = open(stage);
    client.next('lock.acquire', { effectMs: 10, answerMs: 245.2 });
    const error = await stage.until(rejection(lock.tryAcquire({ leaseMs: 250 })));
    expect((error as Error).message).toMatch(/the answer took 246 ms of a lease of 250 ms/);
    await stage.clock.settle();
    expect(stage.server.keys).toEqual([]);
  });

  test('on the wall clock too: a machine that slept wakes up expired, and its owner is told within a second', async () => {
    const stage = new Stage();
    const { lock } = open(stage);
    const lease = await lock.acquire({ leaseMs: 30_000 });
    const { signal } = lease;
    stage.clock.suspend(30_000);
    expect([lease.isHeld, lease.remainingMs, signal.aborted]).toEqual([false, 0, false]);
    await stage.clock.advance(1_000);
    expect(signal.reason).toMatchObject({ code: 'ELOCKLOST', reason: 'expired' });
    expect(await lease.release()).toBe(false);
  });

  test('so that a machine that slept for most of a lease renews it on waking, while there is time', async () => {
    const stage = new Stage();
    const { client, lock } = open(stage);
    const lease = await lock.acquire({ leaseMs: 30_000 });
    stage.clock.suspend(25_000);
    expect(lease.remainingMs).toBe(30_000 - 302 - 25_000);
    await stage.clock.advance(4_000);
    expect(client.sent('lock.renew').length).toBeGreaterThan(0);
    await stage.clock.advance(60_000);
    expect(lease.isHeld).toBe(true);
  });

  test('so that a machine that slept for most of a fixed lease tells its owner when the rest of it is over', async () => {
    const stage = new Stage();
    const { lock } = open(stage);
    const lease = await lock.acquire({ leaseMs: 30_000, renew: false });
    stage.clock.suspend(25_000);
    const toldMs = noteLoss(stage, lease.signal);
    await stage.clock.advance(30_000);
    // The server lets it go 5,000 ms after the waking.
    expect(toldMs).toEqual([4_698]);
  });

  test('and a wall clock that is set back prolongs nothing', async () => {
    const stage = new Stage();
    const { client, lock } = open(stage);
    client.from('lock.renew', hangs());
    const lease = await lock.acquire({ leaseMs: 1_000 });
    stage.clock.jumpWall(-60_000);
    await stage.clock.advance(989);
    expect([lease.isHeld, lease.signal.aborted]).toEqual([false, true]);
  });
});

describe('rule 2: the owner is told first', () => {
  test('at the deadline, by our own timer, with a renewal unanswered', async () => {
    const stage = new Stage();
    const { client, lock } = open(stage, { callTimeoutMs: 60_000 });
    client.from('lock.renew', hangs());
    const lease = await lock.acquire({ leaseMs: 1_000 });
    const toldMs = noteLoss(stage, lease.signal);
    await stage.clock.advance(987);
    expect([lease.isHeld, toldMs]).toEqual([true, []]);
    await stage.clock.advance(13);
    expect(toldMs[0]).toBeGreaterThanOrEqual(988);
    expect(toldMs[0]).toBeLessThan(989);
    expect(lease.isHeld).toBe(false);
    expect(client.sent('lock.renew').length).toBeGreaterThan(0);
    expect(lease.signal.reason).toBeInstanceOf(LockLostError);
    expect((lease.signal.reason as Error).message).toBe(
      'lock "a": lost after 988 ms, no renewal got through before the end of its lease of 1000 ms',
    );
  });

  test('before the server lets anyone else in, whatever the lease', async () => {
    for (const leaseMs of [5, 7, 50, 333, 2_001, 45_677]) {
      const stage = new Stage();
      const { client, lock } = open(stage);
      const other = open(stage);
      client.next('lock.acquire', { effectMs: 0, answerMs: 1 });
      client.from('lock.renew', hangs());
      const lease = await stage.until(lock.acquire({ leaseMs }));
      const { signal } = lease;
      const second = await stage.until(other.lock.acquire({ leaseMs: 1_000 }));
      expect([leaseMs, second.isHeld, lease.isHeld, signal.aborted]).toEqual([leaseMs, true, false, true]);
      expect(second.fence).toBeGreaterThan(lease.fence);
    }
  });

  test('also when an answer was lost that would have confirmed a shorter lease', async () => {
    const stage = new Stage();
    const { client, lock } = open(stage);
    const lease = await lock.acquire({ leaseMs: 30_000 });
    const toldMs = noteLoss(stage, lease.signal);
    client.from('any', hangs());
    client.next('lock.renew', losesAnswer());
    const error = rejection(lease.extend(500));
    // The short one counts from before sending; the answer decides nothing.
    expect(lease.remainingMs).toBe(493);
    expect(await stage.until(error)).toMatchObject({ code: 'ELOCKUNKNOWN' });
    await stage.clock.advance(500);
    expect(toldMs[0]).toBeGreaterThanOrEqual(493);
    expect(toldMs[0]).toBeLessThan(494);
  });

  test('and a synchronous look is right before the event loop has turned', async () => {
    const stage = new Stage();
    const { lock } = open(stage);
    const lease = await lock.acquire({ leaseMs: 1_000 });
    const { signal } = lease;
    stage.clock.advanceSync(988);
    expect([lease.isHeld, lease.remainingMs, signal.aborted]).toEqual([false, 0, false]);
    await stage.clock.advance(0);
    expect(signal.aborted).toBe(true);
  });

  test('of a release that comes after the deadline and before the timer: it was not ours any more', async () => {
    const stage = new Stage();
    const { lock } = open(stage);
    const lease = await lock.acquire({ leaseMs: 1_000 });
    stage.clock.advanceSync(989);
    expect(await lease.release()).toBe(false);
    expect(lease.signal.aborted).toBe(true);
  });

  test('of an extension that comes after the deadline and before the timer: it is lost', async () => {
    const stage = new Stage();
    const { client, lock } = open(stage);
    const lease = await lock.acquire({ leaseMs: 1_000 });
    stage.clock.advanceSync(989);
    await expect(lease.extend(1_000)).rejects.toMatchObject({ code: 'ELOCKLOST', reason: 'expired' });
    expect(client.sent('lock.renew')).toEqual([]);
  });

  test('everybody under the hold is told: those who entered again too', async () => {
    const stage = new Stage();
    const { client, lock } = open(stage);
    const lease = await lock.acquire({ leaseMs: 1_000 });
    const inner = await lock.acquire({ within: lease });
    const innermost = await lock.acquire({ within: inner });
    const signals = [lease.signal, inner.signal, innermost.signal];
    client.from('any', hangs());
    await stage.clock.advance(1_000);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true]);
  });
});

interface Opened {
  readonly client: ReturnType<Stage['process']>['client'];
  readonly lock: ReturnType<ReturnType<Stage['process']>['lock']>;
}

function open(stage: Stage, options: Parameters<Stage['process']>[0] = {}): Opened {
  const process = stage.process(options);
  return { client: process.client, lock: process.lock('a') };
}

/** When the signal aborted, counted from now. */
function noteLoss(stage: Stage, signal: AbortSignal): number[] {
  const startedMs = stage.clock.monotonicMs();
  const toldMs: number[] = [];
  signal.addEventListener('abort', () => toldMs.push(stage.clock.monotonicMs() - startedMs));
  return toldMs;
}
