import { describe, expect, test } from 'vitest';
import { failureOf } from '../harness.ts';
import { echo } from '../scripts.ts';
import { busy, take } from './busy-connection.ts';

describe('a call that was undone while it was on its way', () => {
  test.each([
    ['NOSCRIPT No matching script.', 1],
    ['NOSCRIPT No matching script.', 2],
    ['NOPERM No permissions to access a key', 2],
    ["CROSSSLOT Keys in request don't hash to the same slot", 2],
  ])('is not sent again after %s (%d of them)', async (refusal, count) => {
    const { clock, connection, raw } = await busy();
    let isWanted = true;
    const unwanted = connection.run({ ...take('a'), isWanted: () => isWanted }, 1_000);
    const wanted = count === 1 ? null : connection.run({ ...take('b'), isWanted: () => true }, 1_000);
    await clock.settle();
    const request = raw.asked.shift();
    isWanted = false;
    request?.refuse(refusal);
    await clock.settle();
    expect(failureOf(await unwanted)).toMatchObject({ kind: 'reply', word: refusal.split(' ')[0] });
    const again = raw.asked.shift();
    expect(again?.what).toBe(wanted === null ? undefined : 'take b');
    again?.answer(2);
    if (wanted !== null) expect(await wanted).toBe(2);
    connection.close();
  });
});

describe('a server that has become a replica', () => {
  test('is left with the last answer, and who comes meanwhile is served by the next', async () => {
    const { clock, connection, raw, driver, finish } = await busy();
    const refused = connection.run(echo('a'), 1_000);
    raw.next('evalsha', 'echo a').refuse('READONLY You can not write against a read only replica.');
    expect(failureOf(await refused)).toMatchObject({ kind: 'reply', word: 'READONLY' });
    expect(raw.isClosed).toBe(false);
    const later = connection.run(echo('b'), 1_000);
    expect(raw.asked).toEqual([]);
    await finish();
    await clock.settle();
    expect(raw.isClosed).toBe(true);
    driver.raw.next('connect').answer();
    await clock.settle();
    driver.raw.next('evalsha', 'echo b').answer('b');
    expect(await later).toBe('b');
    connection.close();
  });
});
