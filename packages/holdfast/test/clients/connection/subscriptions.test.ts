import { describe, expect, test } from 'vitest';
import { STALL_MS_MAX } from '../../../src/clients/connection/stall-watch.ts';
import {
  RECONNECT_MS_MAX,
  RECONNECT_MS_MIN,
  REFUSED_MS,
  Subscriptions,
} from '../../../src/clients/connection/subscriptions.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { TimerQueue } from '../../../src/runtime/timer-queue.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { failureOf } from '../harness.ts';
import { FakeDriver } from './fake-driver.ts';

function setUp(fraction = 0) {
  const clock = new FakeClock();
  const timers = new TimerQueue(clock);
  const driver = new FakeDriver();
  const refusals: string[] = [];
  const random = { ...systemRandom, fraction: () => fraction };
  const events = { refused: (_: string, { text }: { text: string }) => refusals.push(text) };
  const subscriptions = new Subscriptions(driver, { timers, random, events });
  return { clock, timers, driver, subscriptions, refusals };
}

/** With one confirmed listener, whose messages are in `heard`. */
async function listening(fraction = 0) {
  const parts = setUp(fraction);
  const heard: (string | null)[] = [];
  const listened = parts.subscriptions.listen('news', (message) => heard.push(message), 1_000);
  parts.driver.raw.next('connect').answer();
  await parts.clock.settle();
  parts.driver.raw.next('subscribe', 'news').answer();
  const stop = await listened;
  if (typeof stop !== 'function') throw new Error(stop.text);
  return { ...parts, heard, stop };
}

describe('a lost subscription', () => {
  test.each([
    ['without luck', 0, [50, 100, 200, 400, 500, 500]],
    ['with luck', 0.5, [75, 150, 300, 600, 750, 750]],
  ])('is tried again after longer and longer times: %s', async (_, fraction, delays) => {
    const { clock, driver } = await listening(fraction);
    driver.raw.events.lost(new Error('read ECONNRESET'));
    for (const [index, delayMs] of delays.entries()) {
      expect(delayMs).toBeGreaterThanOrEqual(RECONNECT_MS_MIN);
      expect(delayMs).toBeLessThanOrEqual(RECONNECT_MS_MAX);
      expect(driver.dialled).toHaveLength(index + 1);
      await clock.advance(delayMs - 1);
      expect(driver.dialled).toHaveLength(index + 1);
      await clock.advance(1);
      expect(driver.dialled).toHaveLength(index + 2);
      driver.raw.next('connect').refuse('connect ECONNREFUSED');
      await clock.settle();
    }
  });

  test('is tried again soon once one has been confirmed in between', async () => {
    const { clock, driver, heard } = await listening();
    for (let turn = 0; turn < 5; turn += 1) {
      driver.raw.events.lost(new Error('read ECONNRESET'));
      await clock.advance(RECONNECT_MS_MIN);
      driver.raw.next('connect').answer();
      await clock.settle();
      driver.raw.next('subscribe', 'news').answer();
      await clock.settle();
    }
    expect(heard).toEqual([null, null, null, null, null]);
  });

  test('is not tried again soon by a server that lets us in and throws us out', async () => {
    const { clock, driver } = await listening();
    for (const delayMs of [50, 100, 200, 400]) {
      const dials = driver.dialled.length;
      driver.raw.events.lost(new Error('read ECONNRESET'));
      await clock.advance(delayMs - 1);
      expect(driver.dialled).toHaveLength(dials);
      await clock.advance(1);
      driver.raw.next('connect').answer();
      await clock.settle();
    }
  });

  test('does not hold the process, and is forgotten when nobody listens', async () => {
    const { clock, driver, timers, stop } = await listening();
    driver.raw.events.lost(new Error('read ECONNRESET'));
    expect(timers.size).toBe(1);
    expect(clock.refdTimers).toBe(0);
    stop();
    expect(timers.size).toBe(0);
    await clock.advance(60_000);
    expect(driver.dialled).toHaveLength(1);
  });

  /** Lost, with a new connection on which it is refused. */
  async function refused(refusal: string) {
    const parts = await listening();
    parts.driver.raw.events.lost(new Error('read ECONNRESET'));
    await parts.clock.advance(RECONNECT_MS_MIN);
    parts.driver.raw.next('connect').answer();
    await parts.clock.settle();
    parts.driver.raw.next('subscribe', 'news').refuse(refusal);
    await parts.clock.settle();
    return parts;
  }

  test('that the server refuses to restore is told to its listener, and restored when somebody asks again', async () => {
    const { driver, subscriptions, heard } = await refused('NOPERM No permissions to access a channel');
    expect(heard).toEqual([null]);
    expect(driver.raw.asked).toEqual([]);
    const again = subscriptions.listen('news', () => {}, 1_000);
    driver.raw.next('subscribe', 'news').answer();
    expect(await again).toBeTypeOf('function');
    expect(heard).toEqual([null, null]);
  });

  test('that the server refuses to restore is asked for again at leisure, and its listener told once', async () => {
    const { clock, driver, heard } = await refused('CLUSTERDOWN Hash slot not served');
    for (let turn = 0; turn < 3; turn += 1) {
      await clock.advance(REFUSED_MS - 1);
      expect(driver.raw.asked).toEqual([]);
      await clock.advance(1);
      driver.raw.next('subscribe', 'news').refuse('CLUSTERDOWN Hash slot not served');
      await clock.settle();
    }
    expect(heard).toEqual([null]);
    await clock.advance(REFUSED_MS);
    driver.raw.next('subscribe', 'news').answer();
    await clock.settle();
    expect(heard).toEqual([null, null]);
    await clock.advance(2 * REFUSED_MS);
    expect(driver.raw.asked).toEqual([]);
  });

  test('that the server refuses to restore is forgotten when nobody listens', async () => {
    const { clock, driver, timers, stop } = await refused('CLUSTERDOWN Hash slot not served');
    expect(timers.size).toBeGreaterThan(0);
    expect(clock.refdTimers).toBe(0);
    stop();
    await clock.advance(2 * REFUSED_MS);
    expect(driver.raw.asked).toEqual([]);
  });

  test('that has moved is left to whoever follows it', async () => {
    const { heard, refusals } = await refused('MOVED 1 127.0.0.1:7001');
    expect(refusals).toEqual(['MOVED 1 127.0.0.1:7001']);
    expect(heard).toEqual([]);
  });
});

describe('a subscription', () => {
  test('holds the process until it is confirmed, and not by its listeners', async () => {
    const { clock, driver, subscriptions } = await listening();
    expect(clock.refdTimers).toBe(0);
    const listened = subscriptions.listen('other', () => {}, 1_000);
    expect(clock.refdTimers).toBe(1);
    driver.raw.next('subscribe', 'other').answer();
    expect(await listened).toBeTypeOf('function');
    expect(clock.refdTimers).toBe(0);
  });

  test('that is asked for while the channel is being given up waits, and is asked for anew', async () => {
    const { clock, driver, subscriptions, stop, heard } = await listening();
    stop();
    const unsubscribing = driver.raw.next('unsubscribe', 'news');
    let isConfirmed = false;
    const again = subscriptions.listen('news', (message) => heard.push(message), 1_000);
    void again.then(() => {
      isConfirmed = true;
    });
    expect(driver.raw.asked).toEqual([]);
    unsubscribing.answer();
    await clock.settle();
    expect(isConfirmed).toBe(false);
    driver.raw.next('subscribe', 'news').answer();
    expect(await again).toBeTypeOf('function');
    driver.raw.events.message('news', 'x');
    expect(heard).toEqual(['x']);
  });

  test('that is confirmed after its listener gave up is given up, too', async () => {
    const { clock, driver, subscriptions } = await listening();
    const late = subscriptions.listen('late', () => {}, 100);
    const subscribing = driver.raw.next('subscribe', 'late');
    await clock.advance(100);
    expect(failureOf(await late).kind).toBe('unknown');
    expect(driver.raw.asked).toEqual([]);
    subscribing.answer();
    await clock.settle();
    driver.raw.next('unsubscribe', 'late').answer();
    await clock.settle();
    expect(driver.raw.asked).toEqual([]);
  });

  test('that is confirmed after its listener gave up serves one that came meanwhile', async () => {
    const { clock, driver, subscriptions } = await listening();
    const hasty = subscriptions.listen('late', () => {}, 100);
    await clock.advance(100);
    await hasty;
    const patient = subscriptions.listen('late', () => {}, 100);
    driver.raw.next('subscribe', 'late').answer();
    expect(await patient).toBeTypeOf('function');
    expect(driver.raw.asked).toEqual([]);
  });

  test('hears a message that comes in the same breath as the confirmation', async () => {
    const { driver, subscriptions } = await listening();
    const heard: (string | null)[] = [];
    const listened = subscriptions.listen('other', (message) => heard.push(message), 1_000);
    driver.raw.next('subscribe', 'other').answer();
    driver.raw.events.message('other', 'x');
    await listened;
    expect(heard).toEqual(['x']);
  });

  test('that is taken back in the same breath as it is confirmed is asked for once more', async () => {
    const { clock, driver, subscriptions } = await listening();
    const listened = subscriptions.listen('other', () => {}, 1_000);
    driver.raw.next('subscribe', 'other').answer();
    driver.raw.events.dropped('other');
    await clock.settle();
    driver.raw.next('subscribe', 'other').refuse('MOVED 1 127.0.0.1:7001');
    expect(failureOf(await listened).text).toBe('MOVED 1 127.0.0.1:7001');
    expect(driver.raw.asked).toEqual([]);
  });

  test('that gets no answer for STALL_MS_MAX is taken to a new connection', async () => {
    const { clock, driver, subscriptions, heard } = await listening();
    const stuck = subscriptions.listen('other', () => {}, 60_000);
    await clock.advance(STALL_MS_MAX);
    expect(driver.dialled[0]?.isClosed).toBe(true);
    expect(failureOf(await stuck).kind).toBe('unreachable');
    await clock.advance(RECONNECT_MS_MIN);
    driver.raw.next('connect').answer();
    await clock.settle();
    driver.raw.next('subscribe', 'news').answer();
    await clock.settle();
    expect(heard).toEqual([null]);
  });

  test('is made anew where scripts go, once they have a new connection, and its listener told', async () => {
    const { clock, driver, subscriptions, heard } = await listening();
    const [left] = driver.dialled;
    subscriptions.scriptsLost();
    expect(left?.isClosed).toBe(false);
    subscriptions.scriptsUp();
    expect(left?.isClosed).toBe(true);
    await clock.advance(RECONNECT_MS_MIN);
    expect(driver.dialled).toHaveLength(2);
    driver.raw.next('connect').answer();
    await clock.settle();
    driver.raw.next('subscribe', 'news').answer();
    await clock.settle();
    driver.raw.events.message('news', 'x');
    expect(heard).toEqual([null, 'x']);
  });

  test('is made anew also if it was let in while scripts had none: the address may have led elsewhere', async () => {
    const { clock, driver, subscriptions } = await listening();
    subscriptions.scriptsUp();
    expect(driver.dialled).toHaveLength(1);
    subscriptions.scriptsLost();
    driver.raw.events.lost(new Error('read ECONNRESET'));
    await clock.advance(RECONNECT_MS_MIN);
    driver.raw.next('connect').answer();
    await clock.settle();
    const [, letIn] = driver.dialled;
    subscriptions.scriptsUp();
    expect(letIn?.isClosed).toBe(true);
    await clock.advance(2 * RECONNECT_MS_MIN);
    expect(driver.dialled).toHaveLength(3);
  });

  test('that is being made when scripts get a connection is made anew, once', async () => {
    const { clock, driver, subscriptions, heard } = await listening();
    subscriptions.scriptsLost();
    driver.raw.events.lost(new Error('read ECONNRESET'));
    await clock.advance(RECONNECT_MS_MIN);
    const [, dialling] = driver.dialled;
    subscriptions.scriptsUp();
    expect(dialling?.isClosed).toBe(true);
    await clock.advance(2 * RECONNECT_MS_MIN);
    driver.raw.next('connect').answer();
    await clock.settle();
    driver.raw.next('subscribe', 'news').answer();
    await clock.settle();
    subscriptions.scriptsUp();
    expect(driver.dialled).toHaveLength(3);
    expect(heard).toEqual([null]);
  });

  test('is not made anew where nobody listens', async () => {
    const { clock, timers, driver, subscriptions, stop } = await listening();
    stop();
    driver.raw.next('unsubscribe', 'news').answer();
    await clock.settle();
    subscriptions.scriptsLost();
    subscriptions.scriptsUp();
    expect(driver.dialled).toHaveLength(1);
    expect(timers.size).toBe(0);
  });

  test('ends with close, and a stop afterwards is harmless', async () => {
    const { timers, driver, subscriptions, stop, heard } = await listening();
    const pending = subscriptions.listen('other', () => {}, 1_000);
    subscriptions.close();
    expect(failureOf(await pending).kind).toBe('closed');
    driver.raw.events.message('news', 'x');
    stop();
    expect(heard).toEqual([]);
    expect(driver.raw.isClosed).toBe(true);
    expect(timers.size).toBe(0);
  });
});
