import { describe, expect, test } from 'vitest';
import { type WakeReason, Wakeup } from '../../src/locking/wakeup.ts';
import { answers, fails, hangs, refuses } from './support/scripted-client.ts';
import { Stage, type StageProcess } from './support/stage.ts';

const CHANNEL = 'a-channel';

function setup(): { stage: Stage; process: StageProcess; wakeup: Wakeup } {
  const stage = new Stage();
  const process = stage.process();
  return { stage, process, wakeup: new Wakeup(process.timers, process.topology, CHANNEL) };
}

/** How a sleep has ended, if it has. */
function watch(sleep: Promise<WakeReason>): { reason: WakeReason | null } {
  const seen: { reason: WakeReason | null } = { reason: null };
  void sleep.then((reason) => (seen.reason = reason));
  return seen;
}

describe('a wake-up', () => {
  test('ends a sleep by a message, a restored subscription, the time or a nudge, and says which', async () => {
    const { stage, wakeup } = setup();
    await wakeup.listen(1_000);
    const wakers: readonly (readonly [WakeReason, () => unknown])[] = [
      ['message', () => stage.server.publish(CHANNEL)],
      ['resync', () => stage.server.publish(CHANNEL, null)],
      ['nudge', () => wakeup.nudge()],
      ['time', () => stage.clock.advance(500)],
    ];
    for (const [reason, wake] of wakers) {
      const sleep = watch(wakeup.sleep(500));
      await stage.clock.advance(499);
      expect(sleep.reason).toBe(null);
      await wake();
      await stage.clock.settle();
      expect(sleep.reason).toBe(reason);
      wakeup.reset();
    }
  });

  test('keeps a hint that comes while an attempt is under way', async () => {
    const { stage, wakeup } = setup();
    await wakeup.listen(1_000);
    wakeup.reset();
    stage.server.publish(CHANNEL);
    const sleep = watch(wakeup.sleep(5_000));
    await stage.clock.settle();
    expect(sleep.reason).toBe('message');
  });

  test('forgets, with the next attempt, the hints that the attempt will see for itself', async () => {
    const { stage, wakeup } = setup();
    await wakeup.listen(1_000);
    stage.server.publish(CHANNEL);
    wakeup.reset();
    const sleep = watch(wakeup.sleep(5_000));
    await stage.clock.advance(4_999);
    expect(sleep.reason).toBe(null);
  });

  test('leaves no deadline behind, and holds the process only while it sleeps', async () => {
    const { stage, process, wakeup } = setup();
    await wakeup.listen(1_000);
    const sleep = wakeup.sleep(5_000);
    expect([process.timers.size, stage.clock.refdTimers]).toEqual([1, 1]);
    stage.server.publish(CHANNEL);
    await sleep;
    expect([process.timers.size, stage.clock.refdTimers]).toEqual([0, 0]);
  });

  test('listens once the server has confirmed, until it is stopped', async () => {
    const { stage, process, wakeup } = setup();
    process.client.next('listen', answers(30));
    const listening = wakeup.listen(1_000);
    expect(wakeup.isListening).toBe(false);
    await stage.clock.advance(30);
    expect([await listening, wakeup.isListening]).toEqual([null, true]);
    expect(stage.server.channels).toEqual([CHANNEL]);
    wakeup.stop();
    expect(wakeup.isListening).toBe(false);
    expect(stage.server.channels).toEqual([]);
  });

  test('undoes a subscription that is confirmed after it was stopped', async () => {
    const { stage, process, wakeup } = setup();
    process.client.next('listen', answers(30));
    const listening = wakeup.listen(1_000);
    wakeup.stop();
    await stage.clock.advance(30);
    expect(await listening).toMatchObject({ kind: 'closed' });
    expect([wakeup.isListening, stage.server.channels]).toEqual([false, []]);
  });

  test.each([
    ['unreachable', refuses()],
    ['unknown', hangs()],
    ['reply', fails('NOPERM this user has no permissions to access one of the channels')],
  ])('says so when a subscription fails: %s', async (kind, fate) => {
    const { stage, process, wakeup } = setup();
    process.client.next('listen', fate);
    expect(await stage.until(wakeup.listen(100))).toMatchObject({ kind });
    expect(wakeup.isListening).toBe(false);
  });

  test('that is stopped has no hints left over', async () => {
    const { stage, wakeup } = setup();
    await wakeup.listen(1_000);
    stage.server.publish(CHANNEL);
    wakeup.stop();
    const sleep = watch(wakeup.sleep(50));
    await stage.clock.advance(49);
    expect(sleep.reason).toBe(null);
  });
});
