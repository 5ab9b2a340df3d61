import { describe, expect, test } from 'vitest';
import { Connection } from '../../../src/clients/connection/connection.ts';
import { CONNECT_MS_MAX } from '../../../src/clients/connection/raw-connection.ts';
import { STALL_MS_MAX } from '../../../src/clients/connection/stall-watch.ts';
import { TimerQueue } from '../../../src/runtime/timer-queue.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { failureOf } from '../harness.ts';
import { echo } from '../scripts.ts';
import { expectNothingElse } from './busy-connection.ts';
import { FakeDriver } from './fake-driver.ts';

function setUp() {
  const clock = new FakeClock();
  const timers = new TimerQueue(clock);
  const driver = new FakeDriver();
  return { clock, timers, driver, connection: new Connection(driver, timers) };
}

async function connected() {
  const parts = setUp();
  const first = parts.connection.run(echo('first'), 1_000);
  parts.driver.raw.next('connect').answer();
  await parts.clock.settle();
  parts.driver.raw.next('evalsha', 'echo first').answer('first');
  expect(await first).toBe('first');
  return parts;
}

describe('a connection of our own', () => {
  test('that hangs while it is made is dropped after CONNECT_MS_MAX, and the next call makes another', async () => {
    const { clock, driver, connection, timers } = setUp();
    const call = connection.run(echo('a'), 60_000);
    await clock.advance(CONNECT_MS_MAX - 1);
    expect(driver.raw.isClosed).toBe(false);
    await clock.advance(1);
    expect(failureOf(await call)).toMatchObject({
      kind: 'unreachable',
      text: 'no connection within 5000 ms',
    });
    expect(driver.raw.isClosed).toBe(true);
    expect(timers.size).toBe(0);
    const late = driver.raw.next('connect');
    void connection.run(echo('b'), 60_000);
    expect(driver.dialled).toHaveLength(2);
    // The first one comes up after all: it was given up, and must not be taken for the second.
    late.answer();
    await clock.settle();
    expect(connection.isConnected).toBe(false);
    connection.close();
  });

  test('to a server that has become a replica is given up once all have been told, and another is made', async () => {
    const { clock, driver, connection } = await connected();
    const { raw } = driver;
    const calls = ['a', 'b'].map((text) => connection.run(echo(text), 1_000));
    raw.next('evalsha', 'echo a').refuse("READONLY You can't write against a read only replica.");
    await clock.settle();
    expect(raw.isClosed).toBe(false);
    raw.next('evalsha', 'echo b').refuse("READONLY You can't write against a read only replica.");
    for (const call of calls)
      expect(failureOf(await call)).toMatchObject({ kind: 'reply', word: 'READONLY' });
    await clock.settle();
    expect(raw.isClosed).toBe(true);
    expect(connection.isConnected).toBe(false);
    void connection.run(echo('c'), 1_000);
    expect(driver.dialled).toHaveLength(2);
    connection.close();
  });

  test('goes on being made for later calls when the first has given up', async () => {
    const { clock, driver, connection } = setUp();
    const hasty = connection.run(echo('hasty'), 100);
    await clock.advance(100);
    expect(failureOf(await hasty).kind).toBe('unreachable');
    const patient = connection.run(echo('patient'), 1_000);
    driver.raw.next('connect').answer();
    await clock.settle();
    driver.raw.next('evalsha', 'echo patient').answer('patient');
    expect(await patient).toBe('patient');
    expect(driver.dialled).toHaveLength(1);
  });

  test('never holds the process by itself; a call does, by its deadline', async () => {
    const { clock, driver, connection } = await connected();
    expect(clock.refdTimers).toBe(0);
    const call = connection.run(echo('x'), 1_000);
    expect(clock.refdTimers).toBe(1);
    driver.raw.next('evalsha', 'echo x').answer('x');
    await call;
    expect(clock.refdTimers).toBe(0);
  });

  test('that is lost ends its calls at once, also when its client never says what became of them', async () => {
    const { clock, driver, connection } = await connected();
    const calls = ['a', 'b'].map((value) => connection.run(echo(value), 60_000));
    driver.raw.events.lost(new Error('read ECONNRESET'));
    driver.raw.events.lost(new Error('again'));
    for (const result of await Promise.all(calls)) {
      expect(failureOf(result)).toMatchObject({
        kind: 'unknown',
        text: 'the connection was lost: read ECONNRESET',
      });
    }
    expect(driver.raw.isClosed).toBe(true);
    expect(clock.refdTimers).toBe(0);
    connection.close();
  });

  test('that cannot even be dialled makes a call end unreachable', async () => {
    const { driver, connection } = setUp();
    driver.dial = () => {
      throw new Error('Requires at least one sentinel to connect to.');
    };
    const failure = failureOf(await connection.run(echo('x'), 1_000));
    expect(failure).toMatchObject({
      kind: 'unreachable',
      text: 'Requires at least one sentinel to connect to.',
    });
  });

  test('whose client throws instead of rejecting makes a call end unknown', async () => {
    const { driver, connection } = await connected();
    driver.raw.send = () => {
      throw new TypeError('Invalid argument type');
    };
    expect(failureOf(await connection.run(echo('x'), 1_000))).toMatchObject({
      kind: 'unknown',
      text: 'Invalid argument type',
    });
    connection.close();
  });

  test('does not send a script by its text when the refusal of its hash comes after the deadline', async () => {
    const { clock, driver, connection } = await connected();
    const { raw } = driver;
    const call = connection.run(echo('x'), 100);
    await clock.advance(100);
    expect(failureOf(await call).kind).toBe('unknown');
    raw.next('evalsha', 'echo x').refuse('NOSCRIPT No matching script.');
    await clock.settle();
    expect(raw.asked).toEqual([]);
    connection.close();
  });

  test('sends a script by its text once, under the deadline of the call', async () => {
    const { clock, driver, connection } = await connected();
    const call = connection.run(echo('x'), 100);
    await clock.advance(99);
    driver.raw.next('evalsha', 'echo x').refuse('NOSCRIPT No matching script.');
    await clock.settle();
    driver.raw.next('eval', 'echo x').refuse('NOSCRIPT No matching script.');
    expect(failureOf(await call)).toMatchObject({ kind: 'reply', word: 'NOSCRIPT' });
    expect(clock.refdTimers).toBe(0);
    connection.close();
  });

  test('is silent only while nothing at all comes back', async () => {
    const { clock, driver, connection } = await connected();
    const { raw } = driver;
    void connection.run(echo('a'), 60_000);
    void connection.run(echo('b'), 60_000);
    await clock.advance(STALL_MS_MAX - 1);
    raw.next('evalsha', 'echo a').answer('a');
    await clock.advance(STALL_MS_MAX - 1);
    expect(raw.isClosed).toBe(false);
    await clock.advance(1);
    expect(raw.isClosed).toBe(true);
  });

  test('is silent from when a call was written, not from when it began to wait for the connection', async () => {
    const { clock, driver, connection } = setUp();
    void connection.run(echo('x'), 60_000);
    await clock.advance(CONNECT_MS_MAX - 1);
    const { raw } = driver;
    raw.next('connect').answer();
    await clock.advance(STALL_MS_MAX - 1);
    expect(raw.isClosed).toBe(false);
    await clock.advance(1);
    expect(raw.isClosed).toBe(true);
  });

  test('is not silent when it is idle', async () => {
    const { clock, driver, timers } = await connected();
    await clock.advance(10 * STALL_MS_MAX);
    expect(driver.raw.isClosed).toBe(false);
    expect(timers.size).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('a single command', () => {
  const TERMS = { timeoutMs: 1_000 };

  test('is answered in the shape that the client gives', async () => {
    const { driver, connection } = await connected();
    const answer = connection.command(['CLUSTER', 'SLOTS'], TERMS);
    const reply = new Map([['a', [1]]]);
    driver.raw.next('command', 'CLUSTER SLOTS').answer(reply);
    expect(await answer).toBe(reply);
    connection.close();
  });

  test.each([
    ['with the refusal of the server', 'ERR unknown command', { kind: 'reply', word: 'ERR' }],
    ['as unknown when the client has trouble', 'Socket closed', { kind: 'unknown', text: 'Socket closed' }],
  ])('ends %s', async (_, message, failure) => {
    const { driver, connection } = await connected();
    const answer = connection.command(['ROLE'], TERMS);
    driver.raw.next('command', 'ROLE').refuse(message);
    expect(await answer).toMatchObject(failure);
    connection.close();
  });

  test('waits for the connection, in its turn', async () => {
    const { clock, driver, connection } = setUp();
    void connection.run(echo('a'), 1_000);
    void connection.command(['ROLE'], TERMS);
    driver.raw.next('connect').answer();
    await clock.settle();
    driver.raw.next('evalsha', 'echo a');
    driver.raw.next('command', 'ROLE');
    expectNothingElse(driver.raw);
    connection.close();
  });

  test('ends at its deadline in what is known, and does not make its connection suspected', async () => {
    const { clock, driver, connection } = await connected();
    const answer = connection.command(['ROLE'], { timeoutMs: 2_000 });
    await clock.advance(2_000);
    expect(await answer).toMatchObject({ kind: 'unknown', text: 'no answer within 2000 ms' });
    expect(driver.dialled).toHaveLength(1);
    connection.close();
    expect(await connection.command(['ROLE'], TERMS)).toMatchObject({ kind: 'closed' });
  });

  test('for one connection is not written to another', async () => {
    const { clock, driver, connection } = await connected();
    const [{ raw }] = [driver];
    void connection.command(['WAIT', '1', '1'], { ...TERMS, on: raw });
    raw.next('command', 'WAIT 1 1');
    raw.events.lost(new Error('gone'));
    const lost = { kind: 'unknown', text: 'the connection was lost' };
    expect(await connection.command(['WAIT', '1', '1'], { ...TERMS, on: raw })).toMatchObject(lost);
    void connection.run(echo('a'), 1_000);
    driver.raw.next('connect').answer();
    await clock.settle();
    expect(await connection.command(['WAIT', '1', '1'], { ...TERMS, on: raw })).toMatchObject(lost);
    driver.raw.next('evalsha', 'echo a');
    expect(driver.raw.asked).toEqual([]);
    connection.close();
  });
});
