/**
 * A connection that went silent without a word, and a server that is slow or stands still: from one end they look the
 * same. A second connection tells them apart, and takes the place of the first only when the first is dead.
 */
import { describe, expect, test } from 'vitest';
import { Connection } from '../../../src/clients/connection/connection.ts';
import { STALL_MS_MAX } from '../../../src/clients/connection/stall-watch.ts';
import { TimerQueue } from '../../../src/runtime/timer-queue.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { failureOf } from '../harness.ts';
import { echo } from '../scripts.ts';
import { FakeDriver, type FakeRawConnection } from './fake-driver.ts';

/** How long a call may take, and when its connection is suspected: half of that, from 100 ms to a second. */
const CALL_MS = 600;
const SUSPECT_MS = 300;
const PAUSE_MS = 1_000;
/** Nothing is believed before a second look. */
const LOOK_MS = 1;
/** How long the first may still be silent when the second is let in, the second look included. */
const GRACE_MS = 51;

interface Scene {
  readonly clock: FakeClock;
  readonly timers: TimerQueue;
  readonly driver: FakeDriver;
  readonly connection: Connection;
  readonly first: FakeRawConnection;
}

function rawAt({ driver }: Scene, index: number): FakeRawConnection {
  const raw = driver.dialled[index];
  if (raw === undefined) throw new Error(`there is no connection ${index}`);
  return raw;
}

/** A connection that works. */
async function connected(): Promise<Scene> {
  const clock = new FakeClock();
  const timers = new TimerQueue(clock);
  const driver = new FakeDriver();
  const connection = new Connection(driver, timers);
  const answer = connection.run(echo('first'), CALL_MS);
  driver.raw.next('connect').answer();
  await clock.settle();
  driver.raw.next('evalsha', 'echo first').answer('first');
  expect(await answer).toBe('first');
  return { clock, timers, driver, connection, first: driver.raw };
}

/** The server lets us in there. */
async function letIn(scene: Scene, index: number): Promise<FakeRawConnection> {
  const raw = rawAt(scene, index);
  raw.next('connect').answer();
  await scene.clock.settle();
  return raw;
}

describe('a connection on which nothing comes back', () => {
  test.each([
    ['half of what a call may take', 600, 300],
    ['a tenth of a second at least', 20, 100],
    ['a second at most', 60_000, 1_000],
  ])('is suspected after %s: a second one is made beside it', async (_, callMs, suspectMs) => {
    const { clock, driver, connection, first } = await connected();
    void connection.run(echo('x'), callMs);
    await clock.advance(suspectMs);
    expect(driver.dialled).toHaveLength(1);
    await clock.advance(LOOK_MS);
    expect(driver.dialled).toHaveLength(2);
    expect(first.isClosed).toBe(false);
    connection.close();
  });

  test('is suspected by the patience of the call that has the least', async () => {
    const { clock, driver, connection } = await connected();
    void connection.run(echo('patient'), 60_000);
    await clock.advance(50);
    void connection.run(echo('hasty'), 200);
    await clock.advance(50 + LOOK_MS);
    expect(driver.dialled).toHaveLength(2);
    connection.close();
  });

  test('is replaced once the server lets us in on the second, and what was on it is unknown', async () => {
    const scene = await connected();
    const { clock, driver, connection, first } = scene;
    const stuck = connection.run(echo('stuck'), CALL_MS);
    await clock.advance(SUSPECT_MS + LOOK_MS);
    const second = await letIn(scene, 1);
    await clock.advance(GRACE_MS - 1);
    expect(first.isClosed).toBe(false);
    await clock.advance(1);
    expect(failureOf(await stuck)).toMatchObject({
      kind: 'unknown',
      text: 'the connection was lost: no answer for 352 ms, while a new connection works',
    });
    expect([first.isClosed, second.isClosed]).toEqual([true, false]);
    expect(connection.isConnected).toBe(true);
    // Whoever must know that the server may have restarted in between is told.
    expect(connection.connections).toBe(2);
    const next = connection.run(echo('next'), CALL_MS);
    second.next('evalsha', 'echo next').answer('next');
    expect(await next).toBe('next');
    expect(driver.dialled).toHaveLength(2);
    connection.close();
  });

  test('does not take the answer of the first for one of the second', async () => {
    const scene = await connected();
    const { clock, connection, first } = scene;
    const stuck = connection.run(echo('stuck'), CALL_MS);
    const late = first.next('evalsha', 'echo stuck');
    await clock.advance(SUSPECT_MS + LOOK_MS);
    const second = await letIn(scene, 1);
    await clock.advance(GRACE_MS);
    expect(failureOf(await stuck).kind).toBe('unknown');
    const next = connection.run(echo('next'), CALL_MS);
    late.answer('stuck');
    first.events.lost(new Error('read ECONNRESET'));
    await clock.settle();
    expect(connection.isConnected).toBe(true);
    second.next('evalsha', 'echo next').answer('next');
    expect(await next).toBe('next');
    connection.close();
  });

  test('holds the process no more than before, and leaves no timer when it is closed', async () => {
    const scene = await connected();
    const { clock, timers, connection, first } = scene;
    const stuck = connection.run(echo('stuck'), CALL_MS);
    await clock.advance(SUSPECT_MS + LOOK_MS);
    expect(scene.driver.dialled).toHaveLength(2);
    await clock.advance(CALL_MS);
    expect(failureOf(await stuck).kind).toBe('unknown');
    expect(clock.refdTimers).toBe(0);
    connection.close();
    expect([first.isClosed, rawAt(scene, 1).isClosed]).toEqual([true, true]);
    expect(timers.size).toBe(0);
  });
});

describe('a server that is slow', () => {
  test('keeps its connection when it has answered before it lets us in on the second', async () => {
    const scene = await connected();
    const { clock, connection, first } = scene;
    const slow = connection.run(echo('slow'), CALL_MS);
    await clock.advance(SUSPECT_MS + 50);
    first.next('evalsha', 'echo slow').answer('slow');
    expect(await slow).toBe('slow');
    const second = await letIn(scene, 1);
    await clock.advance(GRACE_MS);
    expect([first.isClosed, second.isClosed]).toEqual([false, true]);
    const next = connection.run(echo('next'), CALL_MS);
    first.next('evalsha', 'echo next').answer('next');
    expect(await next).toBe('next');
    expect(connection.connections).toBe(1);
    connection.close();
  });

  test('keeps its connection also when it answers a moment after it has let us in on the second', async () => {
    const scene = await connected();
    const { clock, connection, first } = scene;
    const slow = connection.run(echo('slow'), CALL_MS);
    await clock.advance(SUSPECT_MS + LOOK_MS);
    const second = await letIn(scene, 1);
    await clock.advance(GRACE_MS - 1);
    first.next('evalsha', 'echo slow').answer('slow');
    expect(await slow).toBe('slow');
    await clock.advance(1);
    expect([first.isClosed, second.isClosed]).toEqual([false, true]);
    connection.close();
  });

  test('is suspected at most once a second, however slow it is', async () => {
    const scene = await connected();
    const { clock, driver, connection, first } = scene;
    for (let round = 0; round < 10; round += 1) {
      const slow = connection.run(echo('slow'), CALL_MS);
      await clock.advance(SUSPECT_MS + 100);
      first.next('evalsha', 'echo slow').answer('slow');
      expect(await slow).toBe('slow');
      const { raw } = driver;
      if (raw === first || raw.isClosed) continue;
      await letIn(scene, driver.dialled.length - 1);
      await clock.advance(GRACE_MS);
    }
    // Ten answers of 400 ms each.
    expect(driver.dialled.length - 1).toBeLessThanOrEqual((10 * (SUSPECT_MS + 100)) / PAUSE_MS);
    expect(first.isClosed).toBe(false);
    connection.close();
  });
});

describe('a server that stands still', () => {
  test('finds everything where it was, and one more connection, when it goes on', async () => {
    const scene = await connected();
    const { clock, driver, connection, first } = scene;
    const calls = [1, 2, 3].map((i) => connection.run(echo(`${i}`), 60_000));
    await clock.advance(STALL_MS_MAX - 1);
    expect(driver.dialled).toHaveLength(2);
    expect(first.isClosed).toBe(false);
    for (const i of [1, 2, 3]) first.next('evalsha', `echo ${i}`).answer(`${i}`);
    expect(await Promise.all(calls)).toEqual(['1', '2', '3']);
    await letIn(scene, 1);
    await clock.advance(GRACE_MS);
    expect(first.isClosed).toBe(false);
    connection.close();
  });

  test('for too long is left for the connection that is already being made', async () => {
    const scene = await connected();
    const { clock, driver, connection, first } = scene;
    const stuck = connection.run(echo('stuck'), CALL_MS);
    await clock.advance(STALL_MS_MAX);
    expect(failureOf(await stuck).kind).toBe('unknown');
    expect(first.isClosed).toBe(true);
    expect(connection.isConnected).toBe(false);
    const next = connection.run(echo('next'), CALL_MS);
    expect(driver.dialled).toHaveLength(2);
    const second = await letIn(scene, 1);
    second.next('evalsha', 'echo next').answer('next');
    expect(await next).toBe('next');
    connection.close();
  });

  test('and cuts the first connection leaves the second, which is being made', async () => {
    const scene = await connected();
    const { clock, driver, connection, first } = scene;
    void connection.run(echo('stuck'), CALL_MS);
    await clock.advance(SUSPECT_MS + LOOK_MS);
    first.events.lost(new Error('read ECONNRESET'));
    const next = connection.run(echo('next'), CALL_MS);
    const second = await letIn(scene, 1);
    second.next('evalsha', 'echo next').answer('next');
    expect(await next).toBe('next');
    expect(driver.dialled).toHaveLength(2);
    connection.close();
  });
});

describe('a second connection', () => {
  test('that the server has let in is used at once when the first is lost', async () => {
    const scene = await connected();
    const { clock, connection, first } = scene;
    void connection.run(echo('stuck'), CALL_MS);
    await clock.advance(SUSPECT_MS + LOOK_MS);
    const second = await letIn(scene, 1);
    first.events.lost(new Error('read ECONNRESET'));
    expect(connection.isConnected).toBe(true);
    const next = connection.run(echo('next'), CALL_MS);
    second.next('evalsha', 'echo next').answer('next');
    expect(await next).toBe('next');
    await clock.advance(GRACE_MS);
    expect(second.isClosed).toBe(false);
    connection.close();
  });

  test('that is lost again while the first is given its moment does not hurt the first', async () => {
    const scene = await connected();
    const { clock, connection, first } = scene;
    const call = connection.run(echo('x'), 60_000);
    await clock.advance(1_000 + LOOK_MS);
    const second = await letIn(scene, 1);
    second.events.lost(new Error('read ECONNRESET'));
    await clock.advance(GRACE_MS);
    expect([first.isClosed, second.isClosed]).toEqual([false, true]);
    first.next('evalsha', 'echo x').answer('x');
    expect(await call).toBe('x');
    connection.close();
  });

  test('that cannot be had does not hurt the first, and is tried again after a second', async () => {
    const scene = await connected();
    const { clock, driver, connection, first } = scene;
    const call = connection.run(echo('x'), 60_000);
    await clock.advance(1_000 + LOOK_MS);
    rawAt(scene, 1).next('connect').refuse('connect ECONNREFUSED');
    await clock.advance(PAUSE_MS);
    expect(driver.dialled).toHaveLength(2);
    await clock.advance(LOOK_MS);
    expect(driver.dialled).toHaveLength(3);
    expect(first.isClosed).toBe(false);
    first.next('evalsha', 'echo x').answer('x');
    expect(await call).toBe('x');
    connection.close();
  });

  test('that cannot even be dialled is tried again after a second', async () => {
    const scene = await connected();
    const { clock, driver, connection, first } = scene;
    const dial = driver.dial.bind(driver);
    driver.dial = () => {
      throw new Error('no such file');
    };
    const call = connection.run(echo('x'), 60_000);
    await clock.advance(1_000 + LOOK_MS);
    driver.dial = dial;
    await clock.advance(PAUSE_MS + LOOK_MS);
    expect(driver.dialled).toHaveLength(2);
    first.next('evalsha', 'echo x').answer('x');
    expect(await call).toBe('x');
    connection.close();
  });

  test('that is silent too is replaced after one second, two and four, and never sooner again', async () => {
    const scene = await connected();
    const { clock, driver, connection } = scene;
    const replacedMs: number[] = [];
    let made = 1;
    // A server whose writes are paused: it lets everybody in and runs no script.
    for (let elapsedMs = 0; elapsedMs < 30_000; elapsedMs += 50) {
      void connection.run(echo('x'), 200);
      await clock.advance(50);
      if (driver.dialled.length === made) continue;
      made = driver.dialled.length;
      replacedMs.push(clock.monotonicMs());
      await letIn(scene, made - 1);
    }
    const gaps = replacedMs.slice(1).map((ms, i) => ms - (replacedMs[i] ?? 0));
    const least = gaps.map((_, i) => Math.min(2 ** i, 4) * PAUSE_MS);
    expect(gaps.filter((gap, i) => gap < (least[i] ?? 0))).toEqual([]);
    expect(gaps.length).toBeGreaterThan(4);
    connection.close();
  });
});
