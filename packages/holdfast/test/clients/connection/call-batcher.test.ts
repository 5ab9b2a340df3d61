import { setImmediate as nextPhase } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { CallFailure } from '../../../src/clients/client.ts';
import { Call } from '../../../src/clients/connection/call.ts';
import { InFlight } from '../../../src/clients/connection/in-flight.ts';
import { StallWatch } from '../../../src/clients/connection/stall-watch.ts';
import { TimerQueue } from '../../../src/runtime/timer-queue.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { failureOf } from '../harness.ts';
import { busy, expectNothingElse, give, idle, take } from './busy-connection.ts';

describe('calls of one moment', () => {
  test('a lone call is written at once, before its caller goes on', async () => {
    const { connection, raw } = await idle();
    void connection.run(take('a'), 1_000);
    raw.next('evalsha', 'take a');
    expectNothingElse(raw);
    connection.close();
  });

  test('the first two are written at once and the others together', async () => {
    const { clock, connection, raw } = await idle();
    const calls = ['a', 'b', 'c', 'd'].map((key) => connection.run(take(key), 1_000));
    raw.next('evalsha', 'take a').answer(1);
    raw.next('evalsha', 'take b').answer(2);
    expect(raw.asked).toEqual([]);
    await clock.settle();
    raw.next('evalsha', 'takes 0 c d').answer([3, [4, 'x']]);
    expect(await Promise.all(calls)).toEqual([1, 2, 3, [4, 'x']]);
    expectNothingElse(raw);
    connection.close();
  });

  test('while others are on their way the first waits for the rest', async () => {
    const { clock, connection, raw } = await busy();
    const calls = ['a', 'b'].map((key) => connection.run(take(key, 'same'), 1_000));
    await clock.settle();
    raw.next('evalsha', 'takes 1 same').answer([1, 2]);
    expect(await Promise.all(calls)).toEqual([1, 2]);
    expectNothingElse(raw);
    connection.close();
  });

  test('one that is alone at the end is sent as it is', async () => {
    const { clock, connection, raw } = await busy();
    const call = connection.run(take('a'), 1_000);
    await clock.settle();
    raw.next('evalsha', 'take a').answer(1);
    expect(await call).toBe(1);
    expectNothingElse(raw);
    connection.close();
  });

  test('each script has a request of its own', async () => {
    const { clock, connection, raw } = await busy();
    for (const call of [take('a'), give('b'), take('c'), give('d')]) void connection.run(call, 1_000);
    await clock.settle();
    raw.next('evalsha', 'takes 0 a c');
    raw.next('evalsha', 'gives 0 b d');
    expectNothingElse(raw);
    connection.close();
  });

  test('two of one key are written in the order in which they were made', async () => {
    const { clock, connection, raw } = await busy();
    for (const call of [take('a'), take('b'), give('b'), take('c')]) void connection.run(call, 1_000);
    raw.next('evalsha', 'takes 0 a b');
    await clock.settle();
    raw.next('evalsha', 'give b');
    raw.next('evalsha', 'take c');
    expectNothingElse(raw);
    connection.close();
  });

  test('no more than bundleMax travel together, and none is left behind', async () => {
    const { clock, connection, raw } = await busy(2);
    for (const key of ['a', 'b', 'c', 'd', 'e']) void connection.run(take(key), 1_000);
    await clock.settle();
    await nextPhase();
    await nextPhase();
    raw.next('evalsha', 'takes 0 a b');
    raw.next('evalsha', 'takes 0 c d');
    raw.next('evalsha', 'take e');
    expectNothingElse(raw);
    connection.close();
  });

  test('many are divided, so that the server has work while the next are made up', async () => {
    const { connection, raw } = await busy();
    for (let i = 0; i < 300; i += 1) void connection.run(take(`k${i}`), 1_000);
    await Promise.resolve();
    await new Promise((resolve) => process.nextTick(resolve));
    expect(raw.asked).toHaveLength(1);
    await nextPhase();
    await nextPhase();
    await nextPhase();
    const keys = raw.asked.flatMap(({ what }) => what.split(' ').slice(2));
    expect(raw.asked.length).toBeGreaterThanOrEqual(3);
    expect(raw.asked.length).toBeLessThanOrEqual(5);
    expect(keys).toEqual(Array.from({ length: 300 }, (_, i) => `k${i}`));
    connection.close();
  });

  test('with a bundleMax of 1 each is written at once', async () => {
    const { connection, raw } = await busy(1);
    for (const key of ['a', 'b']) void connection.run(take(key), 1_000);
    raw.next('evalsha', 'take a');
    raw.next('evalsha', 'take b');
    expectNothingElse(raw);
    connection.close();
  });
});

describe('a bundle', () => {
  async function sent() {
    const parts = await busy();
    const calls = ['a', 'b', 'c'].map((key) => parts.connection.run(take(key), 1_000));
    await parts.clock.settle();
    return { ...parts, calls, bundle: parts.raw.next('evalsha', 'takes 0 a b c') };
  }

  test('that the server does not know is sent by its text', async () => {
    const { clock, connection, raw, bundle, calls } = await sent();
    bundle.refuse('NOSCRIPT No matching script.');
    await clock.settle();
    raw.next('eval', 'takes 0 a b c').answer([1, 2, 3]);
    expect(await Promise.all(calls)).toEqual([1, 2, 3]);
    expectNothingElse(raw);
    connection.close();
  });

  test('is not sent again for those that have given up', async () => {
    const { clock, connection, raw, bundle } = await sent();
    const patient = connection.run(take('d'), 9_000);
    const other = connection.run(take('e'), 1_000);
    await clock.settle();
    const second = raw.next('evalsha', 'takes 0 d e');
    await clock.advance(1_000);
    expect(failureOf(await other).kind).toBe('unknown');
    bundle.refuse('NOSCRIPT No matching script.');
    second.refuse('NOSCRIPT No matching script.');
    await clock.settle();
    raw.next('eval', 'take d').answer(4);
    expect(await patient).toBe(4);
    expect(raw.asked).toEqual([]);
    connection.close();
  });

  test('leaves out those that have ended before it is written', async () => {
    const { raw } = await busy();
    const timers = new TimerQueue(new FakeClock());
    const [early, kept] = [
      new Call(take('a'), { timeoutMs: 1_000 }, timers),
      new Call(take('b'), { timeoutMs: 1_000 }, timers),
    ];
    early.end(new CallFailure('unreachable', 'its time is over'));
    const stallWatch = new StallWatch(timers, { suspected: () => 0, stalled: () => {} });
    new InFlight({ raw, stallWatch }, () => {}).write([early, kept], 0);
    raw.next('evalsha', 'take b').answer(2);
    expect(await kept.result).toBe(2);
    expectNothingElse(raw);
  });

  test('of which one fails ends that one alone, with the word of its own', async () => {
    const { connection, bundle, calls, raw } = await sent();
    bundle.answer([1, [-1, 'WRONGTYPE Operation against a key holding the wrong kind of value'], 3]);
    const [a, b, c] = await Promise.all(calls);
    expect([a, c]).toEqual([1, 3]);
    expect(failureOf(b ?? null)).toMatchObject({ kind: 'reply', word: 'WRONGTYPE' });
    expectNothingElse(raw);
    connection.close();
  });

  test.each([
    'NOPERM No permissions to access a key',
    "CROSSSLOT Keys in request don't hash to the same slot",
  ])('that is refused for one key is sent call by call (%s)', async (refusal) => {
    const { clock, connection, raw, bundle, calls } = await sent();
    bundle.refuse(refusal);
    await clock.settle();
    raw.next('evalsha', 'take a').answer(1);
    raw.next('evalsha', 'take b').refuse('NOPERM No permissions to access a key');
    raw.next('evalsha', 'take c').answer(3);
    const [a, b, c] = await Promise.all(calls);
    expect([a, c]).toEqual([1, 3]);
    expect(failureOf(b ?? null)).toMatchObject({ kind: 'reply', word: 'NOPERM' });
    expectNothingElse(raw);
    connection.close();
  });

  test('that is refused as a whole refuses each', async () => {
    const { connection, bundle, calls, raw } = await sent();
    bundle.refuse('OOM command not allowed');
    for (const call of calls) expect(failureOf(await call)).toMatchObject({ kind: 'reply', word: 'OOM' });
    expectNothingElse(raw);
    connection.close();
  });

  test('whose answer cannot be read is unknown for each', async () => {
    const { connection, bundle, calls, raw } = await sent();
    bundle.answer([1, 2]);
    for (const call of calls) expect(failureOf(await call).kind).toBe('unknown');
    expectNothingElse(raw);
    connection.close();
  });

  test('that was on its way when the connection was lost is unknown for each', async () => {
    const { connection, raw, calls } = await sent();
    raw.events.lost(new Error('gone'));
    for (const call of calls) expect(failureOf(await call).kind).toBe('unknown');
    expectNothingElse(raw);
    connection.close();
  });

  test('that was not written when the connection was lost has not happened', async () => {
    const { connection, raw } = await busy();
    const calls = ['a', 'b'].map((key) => connection.run(take(key), 1_000));
    raw.events.lost(new Error('gone'));
    for (const call of calls) expect(failureOf(await call).kind).toBe('unreachable');
    expect(raw.asked).toEqual([]);
    connection.close();
  });

  test('of which much was not written when the connection was lost is not written on the next one', async () => {
    const { clock, connection, raw, driver } = await busy();
    const calls = Array.from({ length: 400 }, (_, i) => connection.run(take(`k${i}`), 1_000));
    await new Promise((resolve) => process.nextTick(resolve));
    const written = raw.asked.length;
    expect(written).toBe(1);
    raw.events.lost(new Error('gone'));
    const undoing = connection.run(give('k399'), 1_000);
    driver.raw.next('connect').answer();
    await clock.settle();
    await nextPhase();
    await nextPhase();
    driver.raw.next('evalsha', 'give k399').answer(1);
    expect(await undoing).toBe(1);
    expect(driver.raw.asked).toEqual([]);
    const kinds = (await Promise.all(calls)).map((result) => failureOf(result).kind);
    expect(new Set(kinds)).toEqual(new Set(['unknown', 'unreachable']));
    expect(kinds.at(-1)).toBe('unreachable');
    expect(raw.asked).toHaveLength(written);
    connection.close();
  });

  test('that was not written when the client was closed has not happened', async () => {
    const { connection, raw } = await busy();
    const calls = ['a', 'b'].map((key) => connection.run(take(key), 1_000));
    connection.close();
    for (const call of calls) expect(failureOf(await call).kind).toBe('closed');
    expect(raw.asked).toEqual([]);
  });
});
