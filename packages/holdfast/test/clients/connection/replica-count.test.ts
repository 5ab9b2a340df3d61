/** How writes are counted: in rounds, on a connection of its own, each with its own deadline. */
import { describe, expect, test } from 'vitest';
import { type Acknowledged, CallFailure } from '../../../src/clients/client.ts';
import { ReplicaCount } from '../../../src/clients/connection/replica-count.ts';
import { STALL_MS_MAX } from '../../../src/clients/connection/stall-watch.ts';
import { TimerQueue } from '../../../src/runtime/timer-queue.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { echo } from '../scripts.ts';
import { FakeDriver, type FakeRawConnection } from './fake-driver.ts';

const TERMS = { min: 1, timeoutMs: 500, aof: false };

function acknowledged(result: Acknowledged | CallFailure): Acknowledged {
  if (result instanceof CallFailure)
    throw new Error(`expected an answer, got ${result.kind}: ${result.text}`);
  return result;
}

function setUp() {
  const clock = new FakeClock();
  const timers = new TimerQueue(clock);
  const driver = new FakeDriver();
  return { clock, timers, driver, writes: new ReplicaCount(driver, timers) };
}

/** The connection is up, and nothing is under way on it. */
async function connected() {
  const parts = setUp();
  const first = parts.writes.acknowledge(echo('first'), TERMS, 1_000);
  const { raw } = parts.driver;
  raw.next('connect').answer();
  await parts.clock.settle();
  raw.next('evalsha', 'echo first').answer('first');
  await parts.clock.settle();
  raw.next('command', 'WAIT 1 500').answer(1);
  expect(await acknowledged(await first).copies).toEqual({ local: 0, replicas: 1 });
  expect(parts.timers.size).toBeLessThanOrEqual(1);
  return { ...parts, raw };
}

async function play(
  parts: { clock: FakeClock; raw: FakeRawConnection },
  names: readonly string[],
): Promise<void> {
  await parts.clock.settle();
  for (const name of names) parts.raw.next('evalsha', `echo ${name}`).answer(name);
  await parts.clock.settle();
}

describe('a write that is counted', () => {
  test('has its answer before the count', async () => {
    const parts = await connected();
    const write = parts.writes.acknowledge(echo('a'), TERMS, 1_000);
    await play(parts, ['a']);
    const { reply, copies } = acknowledged(await write);
    expect(reply).toBe('a');
    parts.raw.next('command', 'WAIT 1 500').answer(0);
    expect(await copies).toEqual({ local: 0, replicas: 0 });
    parts.writes.close();
  });

  test('shares the count with the others of its turn, and those that come meanwhile with each other', async () => {
    const parts = await connected();
    const turn = ['a', 'b'].map((name) => parts.writes.acknowledge(echo(name), TERMS, 1_000));
    await play(parts, ['a', 'b']);
    const later = ['c', 'd'].map((name) => parts.writes.acknowledge(echo(name), TERMS, 1_000));
    await parts.clock.settle();
    parts.raw.next('command', 'WAIT 1 500').answer(1);
    await Promise.all(turn);
    await play(parts, ['c', 'd']);
    parts.raw.next('command', 'WAIT 1 500').answer(2);
    for (const write of later) {
      expect(await acknowledged(await write).copies).toEqual({ local: 0, replicas: 2 });
    }
    expect(parts.raw.asked).toEqual([]);
    parts.writes.close();
  });

  test('is counted after its text was sent, when the server did not know its hash', async () => {
    const parts = await connected();
    const write = parts.writes.acknowledge(echo('a'), TERMS, 1_000);
    await parts.clock.settle();
    parts.raw.next('evalsha', 'echo a').refuse('NOSCRIPT No matching script.');
    await parts.clock.settle();
    parts.raw.next('eval', 'echo a').answer('a');
    await parts.clock.settle();
    parts.raw.next('command', 'WAIT 1 500').answer(1);
    expect(await acknowledged(await write).copies).toEqual({ local: 0, replicas: 1 });
    parts.writes.close();
  });

  test('on disk is counted by WAITAOF, there and on the server itself', async () => {
    const parts = await connected();
    const write = parts.writes.acknowledge(echo('a'), { ...TERMS, min: 2, aof: true }, 1_000);
    await play(parts, ['a']);
    parts.raw.next('command', 'WAITAOF 1 2 500').answer([1, 2]);
    expect(await acknowledged(await write).copies).toEqual({ local: 1, replicas: 2 });
    parts.writes.close();
  });

  test('that was refused is not counted', async () => {
    const parts = await connected();
    const write = parts.writes.acknowledge(echo('a'), TERMS, 1_000);
    await parts.clock.settle();
    parts.raw.next('evalsha', 'echo a').refuse('OOM command not allowed.');
    expect(await write).toMatchObject({ kind: 'reply', word: 'OOM' });
    await parts.clock.settle();
    expect(parts.raw.asked).toEqual([]);
    parts.writes.close();
  });

  test('asks for less than what is left of its time, so that the count arrives', async () => {
    const parts = await connected();
    void parts.writes.acknowledge(echo('a'), TERMS, 300);
    await parts.clock.settle();
    await parts.clock.advance(100);
    parts.raw.next('evalsha', 'echo a').answer('a');
    await parts.clock.settle();
    expect(parts.raw.asked[0]?.what).toBe('WAIT 1 100');
    parts.writes.close();
  });

  test('ends at its deadline in what is known: not sent, no answer, not counted', async () => {
    const parts = await connected();
    const first = parts.writes.acknowledge(echo('a'), TERMS, 100);
    await parts.clock.settle();
    const behind = parts.writes.acknowledge(echo('b'), TERMS, 100);
    await parts.clock.advance(100);
    expect(await first).toMatchObject({ kind: 'unknown', text: 'no answer within 100 ms' });
    expect(await behind).toMatchObject({ kind: 'unreachable' });
    parts.raw.next('evalsha', 'echo a').answer('a');
    const third = parts.writes.acknowledge(echo('c'), TERMS, 100);
    await play(parts, ['c']);
    const { copies } = acknowledged(await third);
    await parts.clock.advance(100);
    expect(await copies).toMatchObject({ kind: 'unknown', text: 'no answer within 100 ms' });
    parts.writes.close();
  });

  test('whose count is refused or makes no sense says so', async () => {
    const parts = await connected();
    for (const [answer, expected] of [
      ['many', { kind: 'unknown', text: 'a count we cannot read: "many"' }],
      [new Error('ERR unknown command'), { kind: 'reply', word: 'ERR' }],
    ] as const) {
      const write = parts.writes.acknowledge(echo('a'), TERMS, 1_000);
      await play(parts, ['a']);
      const asked = parts.raw.next('command', 'WAIT 1 500');
      if (answer instanceof Error) asked.refuse(answer.message);
      else asked.answer(answer);
      expect(await acknowledged(await write).copies).toMatchObject(expected);
    }
    parts.writes.close();
  });
});

describe('the connection for writes that are counted', () => {
  test('that is lost ends everything on it, and the next write makes another', async () => {
    const parts = await connected();
    const counting = parts.writes.acknowledge(echo('a'), TERMS, 1_000);
    await play(parts, ['a']);
    const { copies } = acknowledged(await counting);
    const waiting = parts.writes.acknowledge(echo('b'), TERMS, 1_000);
    parts.raw.events.lost(new Error('gone'));
    expect(await copies).toMatchObject({ kind: 'unknown', text: 'the connection was lost: gone' });
    expect(await waiting).toMatchObject({ kind: 'unreachable', text: 'gone' });
    void parts.writes.acknowledge(echo('c'), TERMS, 1_000);
    expect(parts.driver.dialled).toHaveLength(2);
    parts.writes.close();
  });

  test('that is silent is given up', async () => {
    const parts = await connected();
    const write = parts.writes.acknowledge(echo('a'), TERMS, 60_000);
    await parts.clock.advance(STALL_MS_MAX);
    expect(await write).toMatchObject({ kind: 'unknown' });
    expect(parts.raw.isClosed).toBe(true);
  });

  test('of a server that has become a replica is dropped, and another made for those who wait', async () => {
    const parts = await connected();
    const write = parts.writes.acknowledge(echo('a'), TERMS, 1_000);
    await parts.clock.settle();
    void parts.writes.acknowledge(echo('b'), TERMS, 1_000);
    parts.raw.next('evalsha', 'echo a').refuse("READONLY You can't write against a read only replica.");
    expect(await write).toMatchObject({ kind: 'reply', word: 'READONLY' });
    await parts.clock.settle();
    expect(parts.raw.isClosed).toBe(true);
    expect(parts.driver.dialled).toHaveLength(2);
    parts.writes.close();
  });

  test('ends what is under way when it is closed, and refuses the rest', async () => {
    const parts = await connected();
    const write = parts.writes.acknowledge(echo('a'), TERMS, 1_000);
    await parts.clock.settle();
    const waiting = parts.writes.acknowledge(echo('b'), TERMS, 1_000);
    parts.writes.close();
    expect(await write).toMatchObject({ kind: 'unknown' });
    expect(await waiting).toMatchObject({ kind: 'closed' });
    expect(await parts.writes.acknowledge(echo('c'), TERMS, 1_000)).toMatchObject({ kind: 'closed' });
    expect(parts.timers.size).toBe(0);
  });
});

describe('a connection on which writes are counted', () => {
  test('is replaced when a write gets no answer, and the next write is counted on the other one', async () => {
    const { clock, driver, raw, writes } = await connected();
    const stuck = writes.acknowledge(echo('stuck'), TERMS, 400);
    await clock.advance(200);
    expect(driver.dialled).toHaveLength(1);
    await clock.advance(1);
    expect(driver.dialled).toHaveLength(2);
    driver.raw.next('connect').answer();
    await clock.advance(60);
    expect(await stuck).toMatchObject({ kind: 'unknown' });
    expect(raw.isClosed).toBe(true);
    const write = writes.acknowledge(echo('a'), TERMS, 1_000);
    await play({ clock, raw: driver.raw }, ['a']);
    driver.raw.next('command', 'WAIT 1 500').answer(1);
    expect(await acknowledged(await write).copies).toEqual({ local: 0, replicas: 1 });
    writes.close();
  });

  test('is the only one that may count its writes: on another every replica would seem to have them', async () => {
    const { clock, driver, raw, writes } = await connected();
    const written = writes.acknowledge(echo('a'), TERMS, 10_000);
    const stuck = writes.acknowledge(echo('stuck'), TERMS, 400);
    await clock.settle();
    raw.next('evalsha', 'echo a').answer('a');
    const { copies } = acknowledged(await written);
    await clock.advance(201);
    driver.raw.next('connect').answer();
    await clock.advance(60);
    expect(await stuck).toMatchObject({ kind: 'unknown' });
    expect([raw.isClosed, driver.raw.isClosed]).toEqual([true, false]);
    expect(await copies).toMatchObject({ kind: 'unknown', text: 'the connection was lost' });
    expect(driver.raw.asked).toEqual([]);
    writes.close();
  });

  test('is not suspected while the server waits for its replicas, as it was asked to', async () => {
    const parts = await connected();
    const { clock, driver, raw, writes } = parts;
    const write = writes.acknowledge(echo('a'), { ...TERMS, timeoutMs: 3_000 }, 4_000);
    await play(parts, ['a']);
    const wait = raw.next('command', 'WAIT 1 3000');
    await clock.advance(3_100);
    expect(driver.dialled).toHaveLength(1);
    wait.answer(1);
    expect(await acknowledged(await write).copies).toEqual({ local: 0, replicas: 1 });
    writes.close();
  });
});
