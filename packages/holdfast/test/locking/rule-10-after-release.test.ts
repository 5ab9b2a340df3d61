/** Safety rule 10: after a release nothing touches the lease, and nothing keeps the process. */
import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { OUTCOMES } from '../../src/scripts/outcome.ts';
import { rejection } from '../support/rejection.ts';
import { answers, hangs, losesAnswer, says } from './support/scripted-client.ts';
import { Stage, type StageProcess } from './support/stage.ts';

function setup(): { stage: Stage; process: StageProcess } {
  const stage = new Stage();
  return { stage, process: stage.process() };
}

/** Nothing is pending, nothing is sent, for a long time. */
async function expectQuiet(stage: Stage, process: StageProcess): Promise<void> {
  const { client, timers, session } = process;
  const sent = client.calls.length;
  await stage.clock.advance(120_000);
  expect(client.calls.slice(sent).map(({ script }) => script)).toEqual([]);
  expect([timers.size, stage.clock.pendingTimers, session.holds, session.renewal.size]).toEqual([0, 0, 0, 0]);
  expect([process.openReleases, stage.server.channels.publicNames]).toEqual([0, []]);
}

describe('rule 10: after a release', () => {
  test.each(['lock', 'mutex'] as const)(
    'a %s is neither renewed nor told of, and no timer is left',
    async (kind) => {
      const { stage, process } = setup();
      const lease = await process[kind]('a').acquire({ leaseMs: 900 });
      const { signal } = lease;
      await stage.clock.advance(2_000);
      expect(await lease.release()).toBe(true);
      await expectQuiet(stage, process);
      expect([signal.aborted, lease.isHeld, lease.remainingMs]).toEqual([false, false, 0]);
    },
  );

  test.each([
    ['renewed', says([OUTCOMES.RENEWED], 200)],
    ['gone', says([OUTCOMES.GONE], 200)],
    ['unanswered', hangs()],
  ])('an answer that is still to come changes nothing: %s', async (_, fate) => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire({ leaseMs: 900 });
    const { signal } = lease;
    process.client.next('lock.renew', fate);
    await stage.clock.advance(300);
    expect(process.client.sent('lock.renew')).toHaveLength(1);
    expect(await lease.release()).toBe(true);
    await expectQuiet(stage, process);
    expect(signal.aborted).toBe(false);
  });

  test('a renewal that the server runs late does not bring the lock back', async () => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire({ leaseMs: 900 });
    process.client.next('lock.renew', { effectMs: 100, answerMs: 200 });
    await stage.clock.advance(300);
    expect(await lease.release()).toBe(true);
    await stage.clock.advance(150);
    expect(stage.server.keys).toEqual([]);
  });

  test('an extension that is under way finds it released', async () => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire();
    process.client.next('lock.renew', answers(100));
    const extended = rejection(lease.extend(5_000));
    await lease.release();
    expect(await stage.until(extended)).toMatchObject({ code: 'ELOCKNOTHELD' });
    await expectQuiet(stage, process);
  });

  test('a second release is false at once and sends nothing', async () => {
    const { process } = setup();
    const lease = await process.lock('a').acquire();
    expect(await lease.release()).toBe(true);
    expect([await lease.release(), await lease.release()]).toEqual([false, false]);
    await lease[Symbol.asyncDispose]();
    expect(process.client.sent('lock.release')).toHaveLength(1);
  });

  test('two releases at once are one', async () => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire();
    process.client.next('lock.release', answers(50));
    const both = Promise.all([lease.release(), lease.release()]);
    expect(await stage.until(both)).toEqual([true, false]);
    expect(process.client.sent('lock.release')).toHaveLength(1);
  });

  test('it is not held from the moment of the call, before the server has answered', async () => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire();
    process.client.next('lock.release', answers(50));
    const released = lease.release();
    expect([lease.isHeld, lease.remainingMs]).toEqual([false, 0]);
    expect(await stage.until(released)).toBe(true);
  });

  test('nothing holds the process while a lease is held, and a waiter does', async () => {
    const { stage, process } = setup();
    const other = stage.process();
    const lease = await process.lock('a').acquire();
    expect([stage.clock.pendingTimers, stage.clock.refdTimers]).toEqual([1, 0]);
    const waiting = other.lock('a').acquire();
    await stage.clock.advance(10);
    expect(stage.clock.refdTimers).toBe(1);
    await lease.release();
    await (await stage.until(waiting)).release();
    await expectQuiet(stage, process);
    await expectQuiet(stage, other);
  });

  test('the signal of the caller that waited is let go', async () => {
    const { stage, process } = setup();
    const { signal } = new AbortController();
    const lease = await process.lock('a').acquire();
    const waiting = process.lock('a').acquire({ signal, waitMs: 60_000 });
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await lease.release();
    const next = await stage.until(waiting);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    await next.release();
    await expectQuiet(stage, process);
  });

  test('nothing is left either when everybody timed out, aborted or was turned down', async () => {
    const { stage, process } = setup();
    const other = stage.process();
    const lease = await other.lock('a').acquire();
    const controller = new AbortController();
    const waits = [
      rejection(process.lock('a').acquire({ waitMs: 100 })),
      rejection(process.lock('a').acquire({ waitMs: 7_000 })),
      rejection(process.lock('a').acquire({ signal: controller.signal })),
    ];
    expect(await process.lock('a').tryAcquire()).toBe(null);
    await stage.clock.advance(8_000);
    controller.abort();
    const codes = (await Promise.all(waits)).map((error) => (error as { code: string }).code);
    expect(codes).toEqual(['ELOCKTIMEOUT', 'ELOCKTIMEOUT', 'ELOCKABORTED']);
    await lease.release();
    await expectQuiet(stage, process);
  });

  test('nothing is left after losses, lost answers and clean-ups', async () => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire({ leaseMs: 500 });
    process.client.from('any', losesAnswer());
    const waits = [
      rejection(process.lock('a').acquire({ waitMs: 3_000 })),
      rejection(process.lock('b').tryAcquire()),
    ];
    await stage.clock.advance(6_000);
    await Promise.all(waits);
    expect(lease.isHeld).toBe(false);
    process.client.heal();
    await stage.clock.advance(60_000);
    expect(stage.server.keys).toEqual([]);
    await expectQuiet(stage, process);
  });
});
