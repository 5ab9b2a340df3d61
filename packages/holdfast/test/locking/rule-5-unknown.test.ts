/** Safety rule 5: a request without an answer may have happened. */
import { describe, expect, test } from 'vitest';
import { LockUnavailableError, LockUnknownError } from '../../src/errors.ts';
import { rejection } from '../support/rejection.ts';
import { useLateReleaseLog } from './support/late-release-log.ts';
import { answers, fails, hangs, losesAnswer, refuses, takesEffectLate } from './support/scripted-client.ts';
import { Stage, type StageProcess } from './support/stage.ts';

const late = useLateReleaseLog();

async function setup(): Promise<{ stage: Stage; process: StageProcess }> {
  const stage = new Stage();
  return { stage, process: await stage.acquaintedProcess() };
}

describe('rule 5: unknown is not failed', () => {
  test('an acquire without an answer is given back when its caller leaves', async () => {
    const { stage, process } = await setup();
    const controller = new AbortController();
    process.client.next('lock.acquire', losesAnswer());
    const error = rejection(process.lock('a').acquire({ signal: controller.signal }));
    await stage.clock.advance(100);
    expect(stage.server.keys).toEqual(['a']);
    controller.abort();
    expect(await error).toMatchObject({ code: 'ELOCKABORTED' });
    await stage.clock.advance(2_000);
    expect([stage.server.keys, late.outcomes]).toEqual([[], ['released']]);
  });

  test('a try whose answer is lost asks again while its time lasts, then says that it may have happened', async () => {
    const { stage, process } = await setup();
    process.client.from('lock.acquire', losesAnswer());
    const startedMs = stage.clock.monotonicMs();
    const error = (await stage.until(rejection(process.lock('a').tryAcquire()))) as LockUnknownError;
    expect(error).toBeInstanceOf(LockUnknownError);
    expect(error.message).toMatch(/^lock "a": no answer; it may or may not have been granted.*2000 ms/);
    expect(stage.clock.monotonicMs() - startedMs).toBe(2_000);
    await stage.clock.settle();
    expect([stage.server.keys, late.outcomes]).toEqual([[], ['released']]);
  });

  test('a try whose first answer is lost gets what it was granted', async () => {
    const { stage, process } = await setup();
    process.client.next('lock.acquire', losesAnswer(10));
    const lease = await stage.until(process.lock('a').tryAcquire());
    expect(lease?.isHeld).toBe(true);
    expect(stage.server.grants).toHaveLength(1);
  });

  test('the clean-up is sent again until it is answered', async () => {
    const { stage, process } = await setup();
    const lease = await process.lock('a').acquire({ leaseMs: 30_000 });
    process.client.from('lock.release', hangs());
    const error = await stage.until(rejection(lease.release()));
    expect(error).toMatchObject({ code: 'ELOCKUNKNOWN' });
    await stage.clock.advance(9_000);
    const repeats = process.client.sent('lock.release').length;
    expect(repeats).toBeGreaterThanOrEqual(4);
    expect(stage.server.keys).toEqual(['a']);
    process.client.heal();
    await stage.clock.advance(3_000);
    expect([stage.server.keys, late.outcomes]).toEqual([[], ['released']]);
    const total = process.client.sent('lock.release').length;
    await stage.clock.advance(60_000);
    expect(process.client.sent('lock.release').length).toBe(total);
  });

  test('or until the lease has certainly run out on the server', async () => {
    const { stage, process } = await setup();
    const lease = await process.lock('a').acquire({ leaseMs: 5_000 });
    process.client.from('lock.release', refuses());
    const error = await rejection(lease.release());
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect((error as Error).message).toMatch(/^lock "a": could not be released yet; it is being repeated/);
    await stage.clock.advance(5_000);
    expect(late.outcomes).toEqual([]);
    await stage.clock.advance(5_000);
    expect(late.outcomes).toEqual(['expired']);
    const repeats = process.client.sent('lock.release').length;
    await stage.clock.advance(60_000);
    expect(process.client.sent('lock.release').length).toBe(repeats);
    expect([process.timers.size, process.openReleases]).toEqual([0, 0]);
  });

  test('the longest lease that was asked for counts, not that of the last caller who repeated the request', async () => {
    const { stage, process } = await setup();
    const lock = process.lock('a');
    process.client.next('lock.acquire', losesAnswer());
    process.client.from('any', hangs());
    const waits = [
      lock.acquire({ leaseMs: 60_000, waitMs: 0 }),
      lock.acquire({ leaseMs: 60, waitMs: 1_000 }),
    ];
    await stage.until(Promise.all(waits.map(rejection)));
    await stage.clock.advance(10_000);
    expect(stage.server.ttlMs('a')).toBeGreaterThan(40_000);
    process.client.heal();
    await stage.clock.advance(5_000);
    expect([stage.server.keys, late.outcomes]).toEqual([[], ['released']]);
  });

  test('the longest lease that was asked for counts also when the request was granted in the end', async () => {
    const { stage, process } = await setup();
    const lock = process.lock('a');
    process.client.next('lock.acquire', losesAnswer());
    const first = rejection(lock.acquire({ leaseMs: 60_000, waitMs: 0 }));
    const lease = await stage.until(lock.acquire({ leaseMs: 60 }));
    expect(await first).toMatchObject({ code: 'ELOCKUNKNOWN' });
    process.client.from('any', hangs());
    await stage.clock.advance(10_000);
    expect([lease.isHeld, stage.server.keys]).toEqual([false, ['a']]);
    process.client.heal();
    await stage.clock.advance(5_000);
    expect(stage.server.keys).toEqual([]);
  });

  test('the clean-up does not hold the process', async () => {
    const { stage, process } = await setup();
    const lease = await process.lock('a').acquire({ leaseMs: 5_000 });
    process.client.from('lock.release', refuses());
    await rejection(lease.release());
    await stage.clock.advance(1_000);
    expect(process.openReleases).toBe(1);
    expect(stage.clock.refdTimers).toBe(0);
  });

  test('a request that reaches the server after its caller gave up is granted nothing', async () => {
    const { stage, process } = await setup();
    process.client.next('lock.acquire', takesEffectLate(2_100, null));
    const error = await stage.until(rejection(process.lock('a').acquire({ waitMs: 100 })));
    expect(error).toMatchObject({ code: 'ELOCKUNKNOWN' });
    await stage.clock.advance(2_000);
    expect([stage.server.keys, stage.server.grants]).toEqual([[], []]);
  });

  test('a request that is overtaken by the release of its hold is given back, however late that is answered', async () => {
    const { stage, process } = await setup();
    process.client.next('lock.acquire', takesEffectLate(1_500));
    const lease = await stage.until(process.lock('a').acquire());
    process.client.next('lock.release', { effectMs: 0, answerMs: 1_999 });
    expect(await stage.until(lease.release())).toBe(true);
    expect(stage.server.grants).toHaveLength(2);
    await stage.clock.advance(3_000);
    expect(stage.server.keys).toEqual([]);
  });

  test('a request that is overtaken by the loss of its hold is given back', async () => {
    const { stage, process } = await setup();
    process.client.next('lock.acquire', takesEffectLate(1_500));
    const terms = { leaseMs: 1_000, renew: false };
    const lease = await stage.until(process.lock('a').acquire(terms));
    await stage.clock.advance(lease.remainingMs + 1);
    expect(lease.isHeld).toBe(false);
    const released = process.client.sent('lock.release').length;
    expect(released).toBeGreaterThan(0);
    await stage.clock.advance(1_500);
    expect(stage.server.grants).toHaveLength(2);
    expect(process.client.sent('lock.release').length).toBeGreaterThan(released);
    await stage.clock.advance(3_000);
    expect([stage.server.keys, late.outcomes]).toEqual([[], ['released']]);
  });

  test('a request that is overtaken by its own clean-up is given back, however late that is answered', async () => {
    const { stage, process } = await setup();
    const controller = new AbortController();
    process.client.next('lock.acquire', takesEffectLate(1_500), refuses());
    process.client.next('lock.release', { effectMs: 0, answerMs: 1_999 });
    const error = rejection(process.lock('a').acquire({ signal: controller.signal }));
    await stage.clock.advance(16);
    controller.abort();
    expect(await error).toMatchObject({ code: 'ELOCKABORTED' });
    await stage.clock.advance(2_000);
    expect(stage.server.grants).toHaveLength(1);
    await stage.clock.advance(3_000);
    expect(stage.server.keys).toEqual([]);
  });

  test('the latest time of a grant is the server clock at the end of the call, and never later', async () => {
    const { stage, process } = await setup();
    await stage.clock.advance(5_000);
    const nowMs = stage.server.timeMs;
    await process.lock('a').acquire({ waitMs: 700 });
    const notAfterMs = Number(process.client.sent('lock.acquire')[0]?.args[4]);
    expect(notAfterMs).toBeLessThanOrEqual(nowMs + 700);
    expect(notAfterMs).toBeGreaterThan(nowMs + 698);
  });

  test('an acquire that was certainly not sent leaves nothing to clean up', async () => {
    const { stage, process } = await setup();
    process.client.from('lock.acquire', refuses());
    const error = (await stage.until(
      rejection(process.lock('a').acquire({ waitMs: 500 })),
    )) as LockUnavailableError;
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(error.servers).toEqual([{ server: 'scripted', kind: 'unreachable', text: 'no connection' }]);
    await stage.clock.advance(60_000);
    expect(process.client.sent('lock.release')).toEqual([]);
  });

  test('an error reply is no riddle: it has not happened', async () => {
    const { stage, process } = await setup();
    process.client.next(
      'lock.acquire',
      fails("NOPERM this user has no permissions to run the 'evalsha' command"),
    );
    const error = await rejection(process.lock('a').acquire());
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect((error as Error).message).toContain('NOPERM');
    await stage.clock.advance(10_000);
    expect(process.client.sent('lock.release')).toEqual([]);
  });

  test('a loss by time is followed by a release: a renewal without an answer may have kept it', async () => {
    const { stage, process } = await setup();
    process.client.from('lock.renew', losesAnswer());
    const lease = await process.lock('a').acquire({ leaseMs: 1_000 });
    const { signal } = lease;
    await stage.clock.advance(987);
    expect(stage.server.ttlMs('a')).toBeGreaterThan(300);
    expect(process.client.sent('lock.release')).toEqual([]);
    await stage.clock.advance(2);
    expect([signal.aborted, stage.server.keys]).toEqual([true, []]);
  });

  test('a grant that crosses the departure of the last caller is given back at once', async () => {
    const { stage, process } = await setup();
    const controller = new AbortController();
    process.client.next('lock.acquire', answers(100));
    const error = rejection(process.lock('a').acquire({ signal: controller.signal }));
    await stage.clock.advance(70);
    controller.abort();
    expect(await error).toMatchObject({ code: 'ELOCKABORTED' });
    await stage.clock.advance(30);
    expect([stage.server.keys, late.outcomes]).toEqual([[], ['released']]);
  });

  test('a grant that crosses the departure of its caller goes to the next one in this process', async () => {
    const { stage, process } = await setup();
    const controller = new AbortController();
    process.client.next('lock.acquire', answers(100));
    const lock = process.lock('a');
    const error = rejection(lock.acquire({ signal: controller.signal }));
    const second = lock.acquire();
    await stage.clock.advance(70);
    controller.abort();
    expect(await error).toMatchObject({ code: 'ELOCKABORTED' });
    const lease = await stage.until(second);
    expect([lease.isHeld, process.client.sent('lock.acquire').length]).toEqual([true, 1]);
  });
});
