/** Safety rule 12: everything that can grow has a bound, and meets it here. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, test } from 'vitest';
import { LockUnavailableError } from '../../src/errors.ts';
import { BATCH_MAX } from '../../src/locking/renewal.ts';
import { WAITERS_MAX } from '../../src/locking/waiting/waiter.ts';
import { type AcquireOptions, resolveAcquireOptions } from '../../src/options/acquire-options.ts';
import { CHANNELS, type LateReleaseMessage } from '../../src/telemetry/channels.ts';
import { LATE_RELEASES_MAX } from '../../src/topologies/server/holders.ts';
import { rejection } from '../support/rejection.ts';
import { answers, losesAnswer, refuses, type ScriptedClient } from './support/scripted-client.ts';
import { Stage } from './support/stage.ts';

describe('rule 12: bounded', { timeout: 120_000 }, () => {
  test(`waiters for one name in one process: the one after ${WAITERS_MAX} is turned down, and a place that is left is free again`, async () => {
    expect(WAITERS_MAX).toBe(100_000);
    const process = new Stage().process();
    const { session } = process;
    const protocol = process.lockProtocol('a');
    const enter = (options: AcquireOptions = {}): Promise<unknown> =>
      session.entrance(protocol).enter(resolveAcquireOptions(options, session.options, false), 0);
    await enter();
    const controller = new AbortController();
    const leaving = rejection(enter({ signal: controller.signal }));
    const waiting: Promise<unknown>[] = [];
    for (let i = 1; i < WAITERS_MAX; i += 1) waiting.push(enter().catch(() => 'turned away'));
    const error = (await rejection(enter())) as Error;
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(error.message).toBe('lock "a": 100000 callers of this process wait for it already');
    controller.abort();
    expect(await leaving).toMatchObject({ code: 'ELOCKABORTED' });
    waiting.push(enter().catch(() => 'turned away'));
    await session.destroy();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['turned away']));
  });

  test(`leases in one renewal: ${BATCH_MAX}, and each of them is renewed in its turn`, async () => {
    expect(BATCH_MAX).toBe(128);
    const stage = new Stage();
    const process = stage.process();
    const names = Array.from({ length: 3 * BATCH_MAX + 1 }, (_, i) => `a${i}`);
    const leases = await Promise.all(names.map((name) => process.lock(name).acquire({ leaseMs: 3_000 })));
    await stage.clock.advance(1_000);
    // Beside each lock goes its counter of fences.
    const renewed = (): string[][] =>
      process.client.sent('lock.renew').map(({ keys }) => keys.filter((_, i) => i % 2 === 0));
    expect(renewed().map(({ length }) => length)).toEqual([BATCH_MAX, BATCH_MAX, BATCH_MAX, 1]);
    expect(new Set(renewed().flat())).toEqual(new Set(names));
    await stage.clock.advance(30_000);
    expect(leases.every(({ isHeld }) => isHeld)).toBe(true);
    const batches = renewed();
    expect(Math.max(...batches.map(({ length }) => length))).toBe(BATCH_MAX);
    // Full batches: no more calls than the leases need, three a lease and a tenth for their drifting apart.
    expect(batches.length).toBeLessThanOrEqual(4 * 31 * 1.2);
  });

  test('a renewal carries one kind: locks and mutexes travel apart', async () => {
    const stage = new Stage();
    const process = stage.process();
    await process.lock('a').acquire({ leaseMs: 600 });
    await process.mutex('m').acquire({ leaseMs: 600 });
    await stage.clock.advance(250);
    expect(process.client.sent('lock.renew').map(({ keys }) => keys)).toEqual([
      ['a', 'redisson_lock_token:{a}'],
    ]);
    expect(process.client.sent('mutex.renew').map(({ keys }) => keys)).toEqual([['m']]);
  });

  test(`open late releases: the oldest of ${LATE_RELEASES_MAX + 1} is left to its lease, and that is told`, async () => {
    expect(LATE_RELEASES_MAX).toBe(4_096);
    const stage = new Stage();
    const process = stage.process();
    process.client.from('lock.release', refuses());
    const told: LateReleaseMessage[] = [];
    const note = (message: unknown): void => void told.push(message as LateReleaseMessage);
    subscribe(CHANNELS.lateRelease, note);
    for (let i = 0; i < LATE_RELEASES_MAX + 2; i += 1) {
      process.topology.abandon(process.lockProtocol(`a${i}`), { holder: `s:${i}`, leaseMs: 30_000 });
    }
    unsubscribe(CHANNELS.lateRelease, note);
    expect(process.openReleases).toBe(LATE_RELEASES_MAX);
    expect(told).toEqual([
      { lock: 'a0', kind: 'lock', outcome: 'dropped' },
      { lock: 'a1', kind: 'lock', outcome: 'dropped' },
    ]);
    await process.session.destroy();
  });

  test('late releases in flight: a server that comes back is not met by a storm', async () => {
    const stage = new Stage();
    const process = stage.process();
    process.client.from('lock.release', refuses());
    for (let i = 0; i < 500; i += 1)
      process.topology.abandon(process.lockProtocol(`a${i}`), { holder: `s:${i}`, leaseMs: 60_000 });
    await stage.clock.advance(5_000);
    const inFlight = watchFlight(process.client);
    process.client.from('lock.release', answers(10));
    await stage.clock.advance(5_000);
    expect(process.openReleases).toBe(0);
    expect(inFlight.most).toBe(16);
  });

  test('attempts of one process for one name: one at a time, however many wait', async () => {
    const stage = new Stage();
    const process = stage.process();
    const other = stage.process();
    const lease = await other.lock('a').acquire();
    const inFlight = watchFlight(process.client);
    process.client.from('lock.acquire', answers(10));
    const waiting = Array.from({ length: 50 }, () =>
      rejection(process.lock('a').acquire({ waitMs: 20_000 })),
    );
    await stage.clock.advance(20_000);
    await Promise.all(waiting);
    expect(inFlight.most).toBe(1);
    // One, one that joins the line after the subscription, then one for each sleep of a second, less a quarter.
    expect(process.client.sent('lock.acquire').length).toBeLessThanOrEqual(2 + 20_000 / 750);
    await lease.release();
  });

  test('retries without an answer slow down: an outage is not met by a storm', async () => {
    const stage = new Stage();
    const process = stage.process({ outageMs: 60_000 });
    await (await process.lock('a').acquire()).release();
    process.client.calls.length = 0;
    process.client.from('any', refuses());
    const error = rejection(process.lock('a').acquire({ waitMs: 30_000 }));
    await stage.clock.advance(30_000);
    expect(await error).toMatchObject({ code: 'ELOCKUNAVAILABLE' });
    expect(process.client.sent('lock.acquire').length).toBeLessThan(60);
  });

  test('a try whose answers are lost slows down too', async () => {
    const stage = new Stage();
    const process = stage.process();
    await (await process.lock('a').acquire()).release();
    process.client.calls.length = 0;
    process.client.from('lock.acquire', losesAnswer(1));
    const error = rejection(process.lock('a').tryAcquire());
    await stage.clock.advance(2_100);
    expect(await error).toMatchObject({ code: 'ELOCKUNKNOWN' });
    expect(process.client.sent('lock.acquire').length).toBeLessThan(15);
  });
});

/** How many calls of that client were without an answer at once, at most, from now on. */
function watchFlight(client: ScriptedClient): { most: number } {
  const run = client.run.bind(client);
  const seen = { most: 0 };
  let inFlight = 0;
  client.run = async (call, timeoutMs) => {
    inFlight += 1;
    seen.most = Math.max(seen.most, inFlight);
    const result = await run(call, timeoutMs);
    inFlight -= 1;
    return result;
  };
  return seen;
}
