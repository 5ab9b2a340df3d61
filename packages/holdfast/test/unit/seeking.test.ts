/** How the one remote contender of a process tries, listens, sleeps and gives up. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, test } from 'vitest';
import { lockChannel } from '../../src/core/name.ts';
import { CHANNELS, type WokenMessage } from '../../src/telemetry/channels.ts';
import { answers, fails, hangs, losesAnswer, refuses } from './support/scripted-client.ts';
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

  test('waits by time alone when it cannot subscribe', async () => {
    const { stage, process } = setup(8_000);
    process.client.from('listen', refuses());
    const lease = await stage.until(process.lock('a').acquire());
    expect(lease.isHeld).toBe(true);
    expect(attemptTimes(process)).toEqual([0, 5_000, 8_002]);
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

describe('a caller', () => {
  test('that tries is told null at once while this process holds the lock, without a command', async () => {
    const process = new Stage().process();
    await process.lock('a').acquire();
    const sent = process.client.calls.length;
    expect(await process.lock('a').tryAcquire()).toBe(null);
    expect(process.client.calls.length).toBe(sent);
  });

  test('that tries is told null after one attempt when somebody else holds it', async () => {
    const { process } = setup();
    expect(await process.lock('a').tryAcquire()).toBe(null);
    expect(process.client.calls.map(({ script }) => script)).toEqual(['lock.acquire']);
  });

  test('that tries while an attempt is under way shares its answer', async () => {
    const { stage, process } = setup();
    process.client.next('lock.acquire', answers(50));
    const tries = [process.lock('a').tryAcquire(), process.lock('a').tryAcquire()];
    expect(await stage.until(Promise.all(tries))).toEqual([null, null]);
    expect(process.client.sent('lock.acquire')).toHaveLength(1);
  });

  test('that tries while the server is out of reach hears of the outage, not of contention', async () => {
    const { stage, process } = setup();
    const waiting = failure(process.lock('a').acquire());
    await stage.clock.advance(1);
    process.client.from('any', refuses());
    await stage.clock.advance(6_000);
    await expect(process.lock('a').tryAcquire()).rejects.toMatchObject({ code: 'ELOCKUNAVAILABLE' });
    await process.session.destroy();
    expect(await waiting).toMatchObject({ code: 'ELOCKCLOSED' });
  });

  test('whose wait is over hears who holds it, and for how long', async () => {
    const { stage, process } = setup();
    const error = (await stage.until(failure(process.lock('a').acquire({ waitMs: 3_000 })))) as Error;
    expect(error).toMatchObject({ code: 'ELOCKTIMEOUT', lock: 'a', elapsedMs: 3_000 });
    expect(error).toMatchObject({ holder: { owner: 'stranger:1', ttlMs: HELD_MS } });
    expect(error.message).toBe(
      'lock "a": waited 3000 ms and did not get it; stranger:1 holds it for 60000 ms more unless renewed',
    );
  });

  test('whose wait is over behind others of its process hears that', async () => {
    const stage = new Stage();
    const process = stage.process();
    await process.lock('a').acquire();
    const error = (await stage.until(failure(process.lock('a').acquire({ waitMs: 300 })))) as Error;
    expect(error.message).toBe('lock "a": waited 300 ms behind other callers of this process');
    expect(error).toMatchObject({ code: 'ELOCKTIMEOUT', elapsedMs: 300 });
  });

  test('that does not wait at all gets the answer of one attempt', async () => {
    const { stage, process } = setup();
    process.client.next('lock.acquire', answers(100));
    const error = await stage.until(failure(process.lock('a').acquire({ waitMs: 0 })));
    expect(error).toMatchObject({ code: 'ELOCKTIMEOUT' });
    stage.server.delete('a');
    process.client.next('lock.acquire', answers(100));
    const lease = await stage.until(process.lock('a').acquire({ waitMs: 0 }));
    expect(lease.isHeld).toBe(true);
  });

  test('whose wait ends during its attempt still gets what that attempt wins', async () => {
    const { stage, process } = setup(500);
    const acquired = process.lock('a').acquire({ waitMs: 510 });
    await stage.clock.advance(100);
    process.client.next('lock.acquire', answers(100));
    const lease = await stage.until(acquired);
    expect(stage.clock.monotonicMs()).toBe(1_000 + 602);
    expect(lease.isHeld).toBe(true);
  });

  test('whose signal has aborted before hears its reason, and nothing is sent', async () => {
    const process = new Stage().process();
    const reason = new Error('too late');
    const calls = [
      process.lock('a').acquire({ signal: AbortSignal.abort(reason) }),
      process.lock('a').tryAcquire({ signal: AbortSignal.abort(reason) }),
    ];
    expect(await Promise.all(calls.map(failure))).toEqual([reason, reason]);
    expect(process.client.calls).toEqual([]);
  });

  test('is refused at once by a server that was never there', async () => {
    const process = new Stage().process();
    process.client.from('any', refuses());
    const error = (await failure(process.lock('a').acquire())) as Error;
    expect(error).toMatchObject({ code: 'ELOCKUNAVAILABLE' });
    expect(error.message).toBe(
      'lock "a": the server did not serve it within 0 ms (scripted: unreachable, no connection)',
    );
  });

  test('sits out an outage of a server that was there, up to a bound', async () => {
    const stage = new Stage();
    const process = stage.process({ outageMs: 5_000 });
    await (await process.lock('b').acquire()).release();
    process.client.from('any', refuses());
    const saved = process.lock('a').acquire();
    await stage.clock.advance(4_000);
    process.client.heal();
    const lease = await stage.until(saved, 2_000);
    expect(lease.isHeld).toBe(true);
    await lease.release();
    process.client.from('any', fails('LOADING Redis is loading the dataset in memory'));
    const startedMs = stage.clock.monotonicMs();
    const error = await stage.until(failure(process.lock('a').acquire()));
    expect(error).toMatchObject({ code: 'ELOCKUNAVAILABLE' });
    const tookMs = stage.clock.monotonicMs() - startedMs;
    expect(tookMs).toBeGreaterThanOrEqual(5_000);
    expect(tookMs).toBeLessThan(6_001);
  });

  test('hears of a key that is no lock, and so does everybody who waits for it', async () => {
    const process = new Stage().process();
    await process.mutex('a').acquire();
    const error = (await failure(process.lock('a').acquire())) as Error;
    expect(error).toMatchObject({ code: 'ELOCKCONFLICT', lock: 'a' });
    expect(error.message).toBe('lock "a": the key holds something else (a string); it was left untouched');
  });

  test('that waited through an outage and a holder gets it in the end', async () => {
    const { stage, process } = setup(3_000);
    const acquired = process.lock('a').acquire();
    await stage.clock.advance(100);
    process.client.from('lock.acquire', hangs());
    await stage.clock.advance(5_000);
    process.client.from('lock.acquire', losesAnswer(5));
    await stage.clock.advance(3_000);
    process.client.heal();
    const lease = await stage.until(acquired);
    expect(lease.isHeld).toBe(true);
    expect(stage.server.grants).toHaveLength(1);
  });

  test('is not refused as by an outage after its machine slept', async () => {
    const stage = new Stage();
    const process = stage.process();
    await (await process.lock('a').acquire()).release();
    // The server's clock went on, ours of calls stood still.
    stage.clock.suspend(60_000);
    stage.server.jump(60_000);
    expect((await process.lock('a').tryAcquire())?.isHeld).toBe(true);
  });
});
