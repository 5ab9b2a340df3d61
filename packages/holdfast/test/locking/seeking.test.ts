/**
 * How the wait loop of a process tries, listens, sleeps and gives up behind a guest, who knows no line. The
 * line among processes of ours is in `line/waiting.test.ts`.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, test } from 'vitest';
import { LockTimeoutError } from '../../src/errors.ts';
import { lockChannel } from '../../src/keys/name.ts';
import { CHANNELS, type WokenMessage } from '../../src/telemetry/channels.ts';
import { rejection } from '../support/rejection.ts';
import { answers, fails, refuses } from './support/scripted-client.ts';
import { CountedRandom, Stage, type StageProcess } from './support/stage.ts';

const HELD_MS = 60_000;

/** A process whose lock a stranger holds. */
function setup(heldMs = HELD_MS): { stage: Stage; process: StageProcess } {
  const stage = new Stage();
  stage.server.occupy('a', heldMs);
  return { stage, process: stage.process({ random: new CountedRandom(() => 0) }) };
}

function free(stage: Stage): void {
  stage.server.delete('a');
  stage.server.channels.publish(lockChannel('a'));
}

const attemptTimes = ({ client }: StageProcess): number[] =>
  client.sent('lock.acquire').map(({ sentMs }) => sentMs - 1_000);

describe('a process that finds the lock held by a guest', () => {
  test('joins the line once grants would be heard, and asks again once it listens to the guest', async () => {
    const { stage, process } = setup();
    process.client.next('listen', answers(40), answers(30));
    void rejection(process.lock('a').acquire());
    await stage.clock.advance(100);
    const tickets = process.client.sent('lock.acquire').map(({ args }) => args[7] !== '');
    expect([attemptTimes(process), tickets]).toEqual([
      [0, 40, 70],
      [false, true, true],
    ]);
    expect(process.client.sent('listen').map(({ keys }) => keys[0])).toEqual([
      `holdfast_session:${process.session.id}`,
      lockChannel('a'),
    ]);
    await process.session.destroy();
  });

  test('subscribes, and tries again once that is confirmed: a release in between is seen', async () => {
    const { stage, process } = setup();
    process.client.next('listen', answers(40));
    const acquired = process.lock('a').acquire();
    await stage.clock.advance(10);
    // Between the first attempt and the subscription: nobody hears this.
    free(stage);
    const lease = await stage.until(acquired);
    expect(lease.isHeld).toBe(true);
    expect(attemptTimes(process)).toEqual([0, 40]);
  });

  test('is woken by a message on the public channel', async () => {
    const { stage, process } = setup();
    const acquired = process.lock('a').acquire();
    await stage.clock.advance(1_234);
    free(stage);
    await stage.until(acquired);
    expect(attemptTimes(process)).toEqual([0, 0, 0, 1_000, 1_234]);
  });

  test('tries again at once when a message comes while an attempt is under way', async () => {
    const { stage, process } = setup();
    const acquired = process.lock('a').acquire();
    await stage.clock.advance(5);
    process.client.next('lock.acquire', { effectMs: 0, answerMs: 30 });
    stage.server.channels.publish(lockChannel('a'));
    await stage.clock.advance(10);
    free(stage);
    await stage.until(acquired);
    expect(attemptTimes(process)).toEqual([0, 0, 0, 5, 35]);
  });

  test('wakes by itself when the lease that it was told runs out, and no message comes', async () => {
    const { stage, process } = setup(700);
    const lease = await stage.until(process.lock('a').acquire());
    expect(lease.isHeld).toBe(true);
    expect(attemptTimes(process)).toEqual([0, 0, 0, 702]);
  });

  test('asks again every second: messages may be lost', async () => {
    const { stage, process } = setup();
    process.client.isDeaf = true;
    const acquired = process.lock('a').acquire();
    await stage.clock.advance(3_500);
    free(stage);
    await stage.until(acquired);
    expect(attemptTimes(process)).toEqual([0, 0, 0, 1_000, 2_000, 3_000, 4_000]);
  });

  test('does not march in step with others: it sleeps up to a quarter less', async () => {
    const stage = new Stage();
    stage.server.occupy('a', HELD_MS);
    const process = stage.process({ random: new CountedRandom(() => 0.999) });
    void rejection(process.lock('a').acquire({ waitMs: 12_000 }));
    await stage.clock.advance(12_000);
    const times = attemptTimes(process);
    const sleeps = times.slice(3).map((time, i) => time - (times[i + 2] ?? 0));
    expect(sleeps.length).toBeGreaterThan(12);
    expect(sleeps.filter((ms) => ms <= 750 || ms >= 760)).toEqual([]);
  });

  test('tries at once after its subscription was interrupted', async () => {
    const { stage, process } = setup();
    const acquired = process.lock('a').acquire();
    await stage.clock.advance(100);
    stage.server.delete('a');
    process.client.resync(lockChannel('a'));
    await stage.until(acquired);
    expect(attemptTimes(process)).toEqual([0, 0, 0, 100]);
  });

  test('waits by time alone when it may not subscribe', async () => {
    const { stage, process } = setup(2_500);
    process.client.from('listen', fails('NOPERM this user has no permissions to access one of the channels'));
    const lease = await stage.until(process.lock('a').acquire());
    expect(lease.isHeld).toBe(true);
    expect(attemptTimes(process)).toEqual([0, 0, 1_000, 2_000, 2_502]);
  });

  test('tries to subscribe with each ask while it cannot, and is woken once it has', async () => {
    const { stage, process } = setup();
    process.client.from('listen', refuses());
    const acquired = process.lock('a').acquire();
    await stage.clock.advance(10_000);
    expect(attemptTimes(process)).toHaveLength(2 + 10);
    process.client.heal();
    await stage.clock.advance(1_000);
    expect(stage.server.channels.publicNames).toEqual([lockChannel('a')]);
    const attempts = attemptTimes(process).length;
    await stage.clock.advance(999);
    expect(attemptTimes(process).length).toBe(attempts);
    free(stage);
    expect((await acquired).isHeld).toBe(true);
  });

  test('stops listening when nobody waits any more', async () => {
    const { stage, process } = setup();
    const controller = new AbortController();
    const error = rejection(process.lock('a').acquire({ signal: controller.signal }));
    await stage.clock.advance(10);
    expect(stage.server.channels.publicNames).toEqual([lockChannel('a')]);
    controller.abort();
    await error;
    await stage.clock.settle();
    expect([stage.server.channels.publicNames, stage.clock.refdTimers]).toEqual([[], 0]);
  });

  test('keeps to the wait of a caller who comes while it still subscribes for others who have left', async () => {
    const { stage, process } = setup();
    process.client.next('listen', answers(1_900));
    const first = rejection(process.lock('a').acquire({ waitMs: 50 }));
    await stage.clock.advance(60);
    expect(await first).toBeInstanceOf(LockTimeoutError);
    const second = rejection(process.lock('a').acquire({ waitMs: 50 }));
    expect(await stage.until(second)).toBeInstanceOf(LockTimeoutError);
    expect(stage.clock.monotonicMs() - 1_000).toBe(60 + 50);
  });

  test('says why it woke', async () => {
    const { stage, process } = setup(6_000);
    const reasons: string[] = [];
    const note = (message: unknown): void => void reasons.push((message as WokenMessage).reason);
    subscribe(CHANNELS.woken, note);
    const acquired = process.lock('a').acquire();
    await stage.clock.advance(100);
    stage.server.channels.publish(lockChannel('a'));
    await stage.clock.advance(100);
    process.client.resync(lockChannel('a'));
    await stage.until(acquired);
    unsubscribe(CHANNELS.woken, note);
    // Every second, and at the end of the lease.
    expect(reasons).toEqual(['message', 'resync', ...Array(6).fill('time')]);
  });

  test('asks at once after a release when nobody else is in line', async () => {
    const stage = new Stage();
    const process = stage.process({ handovers: 0 });
    const lease = await process.lock('a').acquire();
    const waiting = process.lock('a').acquire();
    await lease.release();
    const next = await waiting;
    expect(next.isHeld).toBe(true);
    expect(attemptTimes(process)).toEqual([0, 0]);
  });
});
