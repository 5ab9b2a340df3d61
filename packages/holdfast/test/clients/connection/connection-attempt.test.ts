import { describe, expect, test } from 'vitest';
import { ConnectionAttempt } from '../../../src/clients/connection/connection-attempt.ts';
import { CONNECT_MS_MAX } from '../../../src/clients/connection/raw-connection.ts';
import { TimerQueue } from '../../../src/runtime/timer-queue.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeDriver } from './fake-driver.ts';

function setUp() {
  const clock = new FakeClock();
  const timers = new TimerQueue(clock);
  const driver = new FakeDriver();
  const told: string[] = [];
  const attempt = new ConnectionAttempt(timers, {
    up: () => told.push('up'),
    lost: (cause) => told.push(`lost ${String(cause)}`),
    message: (channel, text) => told.push(`message ${channel} ${text}`),
    dropped: (channel) => told.push(`dropped ${channel}`),
  });
  return { clock, timers, driver, told, attempt };
}

async function started() {
  const parts = setUp();
  parts.attempt.start(parts.driver);
  await parts.clock.settle();
  return parts;
}

async function up() {
  const parts = await started();
  parts.driver.raw.next('connect').answer();
  await parts.clock.settle();
  return parts;
}

describe('an attempt at a connection', () => {
  test('is up once the server has let us in, and leaves no timer', async () => {
    const { attempt, driver, timers, told } = await up();
    expect(told).toEqual(['up']);
    expect(attempt.raw).toBe(driver.raw);
    expect(timers.size).toBe(0);
  });

  test('that is refused has failed, once, and its socket is freed', async () => {
    const { clock, driver, told, timers } = await started();
    driver.raw.next('connect').refuse('WRONGPASS');
    await clock.settle();
    driver.raw.events.lost(new Error('Connection is closed.'));
    expect(told).toEqual(['lost Error: WRONGPASS']);
    expect(driver.raw.isClosed).toBe(true);
    expect(timers.size).toBe(0);
  });

  test('that is lost before it is up has failed with that cause, whatever the client says later', async () => {
    const { attempt, clock, driver, told } = await started();
    driver.raw.events.lost(new Error('connect ECONNREFUSED'));
    driver.raw.next('connect').answer();
    await clock.settle();
    expect(told).toEqual(['lost Error: connect ECONNREFUSED']);
    expect(attempt.raw).toBeNull();
  });

  test('that takes too long has failed, without holding the process meanwhile', async () => {
    const { clock, driver, told } = await started();
    expect(clock.refdTimers).toBe(0);
    await clock.advance(CONNECT_MS_MAX - 1);
    expect(told).toEqual([]);
    await clock.advance(1);
    expect(told).toEqual(['lost Error: no connection within 5000 ms']);
    expect(driver.raw.isClosed).toBe(true);
  });

  test('that cannot even be dialled has failed', async () => {
    const { attempt, clock, told } = setUp();
    attempt.start({
      dial: () => {
        throw new Error('no such file');
      },
    });
    await clock.settle();
    expect(told).toEqual(['lost Error: no such file']);
  });

  test('that is closed says nothing more', async () => {
    const { attempt, clock, driver, told, timers } = await started();
    attempt.close();
    expect(driver.raw.isClosed).toBe(true);
    expect(timers.size).toBe(0);
    driver.raw.next('connect').answer();
    await clock.settle();
    expect(told).toEqual([]);
  });
});

describe('a connection that is up', () => {
  test('tells what comes, until it is lost', async () => {
    const { driver, told } = await up();
    const { events } = driver.raw;
    events.message('news', 'x');
    events.dropped('news');
    events.lost(new Error('read ECONNRESET'));
    events.lost(new Error('again'));
    events.message('news', 'late');
    events.dropped('news');
    expect(told).toEqual(['up', 'message news x', 'dropped news', 'lost Error: read ECONNRESET']);
    expect(driver.raw.isClosed).toBe(true);
  });

  test('that is closed says nothing more', async () => {
    const { attempt, driver, told } = await up();
    attempt.close();
    expect(driver.raw.isClosed).toBe(true);
    driver.raw.events.lost(new Error('Connection is closed.'));
    driver.raw.events.message('news', 'late');
    expect(told).toEqual(['up']);
  });
});
