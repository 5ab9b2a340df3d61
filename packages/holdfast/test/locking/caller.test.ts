/** What a caller of `acquire` or `tryAcquire` gets, and what it is told when it gets nothing. */
import { describe, expect, test } from 'vitest';
import { rejection } from '../support/rejection.ts';
import { answers, fails, hangs, losesAnswer, refuses } from './support/scripted-client.ts';
import { Stage, type StageProcess } from './support/stage.ts';

const HELD_MS = 60_000;

/** A process whose lock a stranger holds. */
function setup(heldMs = HELD_MS): { stage: Stage; process: StageProcess } {
  const stage = new Stage();
  stage.server.occupy('a', heldMs);
  return { stage, process: stage.process() };
}

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
    const waiting = rejection(process.lock('a').acquire());
    await stage.clock.advance(1);
    process.client.from('any', refuses());
    await stage.clock.advance(6_000);
    await expect(process.lock('a').tryAcquire()).rejects.toMatchObject({ code: 'ELOCKUNAVAILABLE' });
    await process.session.destroy();
    expect(await waiting).toMatchObject({ code: 'ELOCKCLOSED' });
  });

  test('whose wait is over hears who holds it, and for how long', async () => {
    const { stage, process } = setup();
    const error = (await stage.until(rejection(process.lock('a').acquire({ waitMs: 3_000 })))) as Error;
    expect(error).toMatchObject({ code: 'ELOCKTIMEOUT', lock: 'a', elapsedMs: 3_000 });
    // As the last ask heard it: one comes every 875 ms, by the middle of what is random.
    expect(error).toMatchObject({ holder: { owner: 'stranger:1', ttlMs: HELD_MS - 2_625 } });
    expect(error.message).toBe(
      'lock "a": waited 3000 ms and did not get it; stranger:1 holds it for 57375 ms more unless renewed',
    );
  });

  test('whose wait is over behind others of its process hears that', async () => {
    const stage = new Stage();
    const process = stage.process();
    await process.lock('a').acquire();
    const error = (await stage.until(rejection(process.lock('a').acquire({ waitMs: 300 })))) as Error;
    expect(error.message).toBe('lock "a": waited 300 ms behind other callers of this process');
    expect(error).toMatchObject({ code: 'ELOCKTIMEOUT', elapsedMs: 300 });
  });

  test('that does not wait at all gets the answer of one attempt', async () => {
    const { stage, process } = setup();
    process.client.next('lock.acquire', answers(100));
    const error = await stage.until(rejection(process.lock('a').acquire({ waitMs: 0 })));
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
    expect(await Promise.all(calls.map(rejection))).toEqual([reason, reason]);
    expect(process.client.calls).toEqual([]);
  });

  test('is refused at once by a server that was never there', async () => {
    const process = new Stage().process();
    process.client.from('any', refuses());
    const error = (await rejection(process.lock('a').acquire())) as Error;
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
    const error = await stage.until(rejection(process.lock('a').acquire()));
    expect(error).toMatchObject({ code: 'ELOCKUNAVAILABLE' });
    const tookMs = stage.clock.monotonicMs() - startedMs;
    expect(tookMs).toBeGreaterThanOrEqual(5_000);
    expect(tookMs).toBeLessThan(6_001);
  });

  test('hears of a key that is no lock, and so does everybody who waits for it', async () => {
    const process = new Stage().process();
    await process.mutex('a').acquire();
    const error = (await rejection(process.lock('a').acquire())) as Error;
    expect(error).toMatchObject({ code: 'ELOCKCONFLICT', lock: 'a' });
    expect(error.message).toBe(
      'lock "a": the key holds something else (expected a hash with one holder, got a string); it was left untouched',
    );
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
