/** How the one remote contender of a process tries, listens, sleeps and gives up. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, test } from 'vitest';
import { LockTimeoutError } from '../../src/errors.ts';
import { lockChannel } from '../../src/keys/name.ts';
import { CHANNELS, type WokenMessage } from '../../src/telemetry/channels.ts';
import { answers, fails, refuses } from './support/scripted-client.ts';
import { CountedRandom, failure, Stage, type StageProcess } from './support/stage.ts';

const HELD_MS = 60_000;

/** A process whose lock a stranger holds. */
function setup(heldMs = HELD_MS): { stage: Stage; process: StageProcess } {
  const stage = new Stage();
  stage.server.occupy('a', heldMs);
  return { stage, process: stage.process({ random: new CountedRandom(() => 0) }) };
}

function free(stage: Stage): void {
  stage.server.delete('a');
  stage.server.publish(lockChannel('a'));
}

const attemptTimes = ({ client }: StageProcess): number[] =>
  client.sent('lock.acquire').map(({ sentMs }) => sentMs - 1_000);

describe('a process that finds the lock held', () => {
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

  test('is woken by a message', async () => {
    const { stage, process } = setup();
    const acquired = process.lock('a').acquire();
    await stage.clock.advance(1_234);
    free(stage);
    await stage.until(acquired);
    expect(attemptTimes(process)).toEqual([0, 0, 1_234]);
  });

  test('tries again at once when a message comes while an attempt is under way', async () => {
    const { stage, process } = setup();
    const acquired = process.lock('a').acquire();
    await stage.clock.advance(5);
    process.client.next('lock.acquire', { effectMs: 0, answerMs: 30 });
    stage.server.publish(lockChannel('a'));
    await stage.clock.advance(10);
    free(stage);
    await stage.until(acquired);
    expect(attemptTimes(process)).toEqual([0, 0, 5, 35]);
  });

  test('wakes by itself when the lease that it was told runs out, and no message comes', async () => {
    const { stage, process } = setup(700);
    const lease = await stage.until(process.lock('a').acquire());
    expect(lease.isHeld).toBe(true);
    expect(attemptTimes(process)).toEqual([0, 0, 702]);
  });

  test('sleeps for at most five seconds: messages may be lost', async () => {
    const { stage, process } = setup();
    process.client.isDeaf = true;
    const acquired = process.lock('a').acquire();
    await stage.clock.advance(12_000);
    free(stage);
    await stage.until(acquired);
    expect(attemptTimes(process)).toEqual([0, 0, 5_000, 10_000, 15_000]);
  });

  test('does not march in step with others: it sleeps up to a quarter less', async () => {
    const stage = new Stage();
    stage.server.occupy('a', HELD_MS);
    const process = stage.process({ random: new CountedRandom(() => 0.999) });
    void failure(process.lock('a').acquire({ waitMs: 12_000 }));
    await stage.clock.advance(12_000);
    const times = attemptTimes(process);
    expect(times.slice(2).every((time, i) => time - (times[i + 1] ?? 0) > 3_750)).toBe(true);
    expect(times.at(2)).toBeLessThan(3_760);
  });

  test('tries at once after its subscription was interrupted', async () => {
    const { stage, process } = setup();
    const acquired = process.lock('a').acquire();
    await stage.clock.advance(100);
    stage.server.delete('a');
    process.client.resync(lockChannel('a'));
    await stage.until(acquired);
    expect(attemptTimes(process)).toEqual([0, 0, 100]);
  });

  test('waits by time alone when it may not subscribe', async () => {
    const { stage, process } = setup(8_000);
    process.client.from('listen', fails('NOPERM this user has no permissions to access one of the channels'));
    const lease = await stage.until(process.lock('a').acquire());
    expect(lease.isHeld).toBe(true);
    expect(attemptTimes(process)).toEqual([0, 5_000, 8_002]);
  });

  test('tries again and again to subscribe when it cannot, ever slower, and is woken once it has', async () => {
    const { stage, process } = setup();
    process.client.from('listen', refuses());
    const acquired = process.lock('a').acquire();
    await stage.clock.advance(10_000);
    expect(attemptTimes(process).length).toBeLessThan(30);
    process.client.heal();
    await stage.clock.advance(1_000);
    expect(stage.server.channels).toEqual([lockChannel('a')]);
    const attempts = attemptTimes(process).length;
    await stage.clock.advance(2_000);
    expect(attemptTimes(process).length).toBe(attempts);
    free(stage);
    expect((await acquired).isHeld).toBe(true);
  });

  test('stops listening when nobody waits any more', async () => {
    const { stage, process } = setup();
    const controller = new AbortController();
    const error = failure(process.lock('a').acquire({ signal: controller.signal }));
    await stage.clock.advance(10);
    expect(stage.server.channels).toEqual([lockChannel('a')]);
    controller.abort();
    await error;
    await stage.clock.settle();
    expect([stage.server.channels, stage.clock.refdTimers]).toEqual([[], 0]);
  });

  test('keeps to the wait of a caller who comes while it still subscribes for others who have left', async () => {
    const { stage, process } = setup();
    process.client.next('listen', answers(1_900));
    const first = failure(process.lock('a').acquire({ waitMs: 50 }));
    await stage.clock.advance(60);
    expect(await first).toBeInstanceOf(LockTimeoutError);
    const second = failure(process.lock('a').acquire({ waitMs: 50 }));
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
    stage.server.publish(lockChannel('a'));
    await stage.clock.advance(100);
    process.client.resync(lockChannel('a'));
    await stage.until(acquired);
    unsubscribe(CHANNELS.woken, note);
    expect(reasons).toEqual(['message', 'resync', 'time', 'time']);
  });

  test('stands back for a moment after a release that others heard', async () => {
    const stage = new Stage();
    const [mine, other] = [stage.process({ handovers: 0 }), stage.process()];
    const lease = await mine.lock('a').acquire();
    const waiting = [mine.lock('a').acquire(), other.lock('a').acquire()] as const;
    await stage.clock.advance(10);
    // The other process is slow: its request takes a millisecond longer than ours would.
    other.client.from('lock.acquire', answers(2));
    await lease.release();
    const next = await stage.until(Promise.race(waiting));
    expect(stage.server.owner('a')).toContain(other.session.id);
    await next.release();
    await (await stage.until(waiting[0])).release();
  });

  test('does not stand back after a release that nobody else heard', async () => {
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
