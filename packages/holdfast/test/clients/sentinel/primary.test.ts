/** How the primary is found, and left for another. */
import { describe, expect, test } from 'vitest';
import { connected, listenAgain, listenerOf, STATE, setUp } from './fake-sentinels.ts';

/** Listened to as soon as a primary is known. */
const LISTENED_TO = ['sentinel:1', 'sentinel:2', 'sentinel:3'];

describe('the primary', () => {
  test('is the one that the sentinel with the latest failover names', async () => {
    const { clock, sentinels, dial, say } = setUp();
    const connection = dial();
    await clock.settle();
    await say(1, 'old', 4);
    await say(3, 'new', 5);
    expect(sentinels.open).not.toContain('new:7');
    await say(2, 'old', 4);
    expect(sentinels.open).toContain('new:7');
    connection.close();
  });

  test('is the new one for the sentinel that leads a failover, although its state names the old one', async () => {
    const { clock, sentinels, dial, say } = setUp();
    const connection = dial();
    await clock.settle();
    await say(1, 'new', 5, 'old');
    for (const port of [2, 3]) await say(port, 'old', 4);
    expect(sentinels.open).toEqual(['new:7', ...LISTENED_TO]);
    connection.close();
  });

  test('is the new one at equal epochs, too, when the leader has moved on between two answers', async () => {
    const { clock, sentinels, dial, say } = setUp();
    const connection = dial();
    await clock.settle();
    for (const port of [1, 2]) await say(port, 'old', 4);
    await say(3, 'new', 4, 'old');
    expect(sentinels.open).toEqual(['new:7', ...LISTENED_TO]);
    connection.close();
  });

  test('is looked for among those who answer: one that does not costs a moment', async () => {
    const { clock, sentinels, dial, say } = setUp();
    const connection = dial();
    await clock.settle();
    sentinels.to('sentinel:1').next('connect').refuse('connect ECONNREFUSED');
    await say(2, 'old', 1);
    await clock.advance(249);
    expect(sentinels.open).not.toContain('old:7');
    await clock.advance(1);
    await clock.settle();
    expect(sentinels.open).toContain('old:7');
    connection.close();
  });

  test('that no sentinel names is told with what each of them said', async () => {
    const { clock, timers, sentinels, dial } = setUp();
    const connection = dial();
    await clock.settle();
    for (const port of [1, 2]) sentinels.to(`sentinel:${port}`).next('connect').refuse(`refused ${port}`);
    const third = sentinels.to('sentinel:3');
    third.next('connect').answer();
    await clock.settle();
    third.next('command', STATE).refuse('ERR No such master with that name');
    const reasons =
      'sentinel:1: refused 1; sentinel:2: refused 2; sentinel:3: ERR No such master with that name';
    expect(await connection.outcome).toBe(`Error: no sentinel names the primary main: ${reasons}`);
    connection.close();
    expect(sentinels.open).toEqual([]);
    expect(timers.size).toBe(0);
  });

  test('is not believed to be one when it says that it is none', async () => {
    const { clock, sentinels, dial, say } = setUp();
    const connection = dial();
    await clock.settle();
    for (const port of [1, 2, 3]) await say(port, 'old', 1);
    const primary = sentinels.to('old:7');
    primary.next('connect').answer();
    await clock.settle();
    primary.next('command', 'ROLE').answer(['slave', 'new', 7, 'connected', 1]);
    expect(await connection.outcome).toBe('Error: the sentinels name old:7, whose role is slave');
    connection.close();
  });

  test('that does not tell its role to our user is believed', async () => {
    const { clock, sentinels, dial, say } = setUp();
    const connection = dial();
    await clock.settle();
    for (const port of [1, 2, 3]) await say(port, 'old', 1);
    const primary = sentinels.to('old:7');
    primary.next('connect').answer();
    await clock.settle();
    primary.next('command', 'ROLE').refuse('NOPERM this user has no permissions');
    expect(await connection.outcome).toBe('up');
    connection.close();
  });
});

describe('a connection to the primary', () => {
  test('is lost as soon as one sentinel says that it is another server, and not before', async () => {
    const parts = await connected();
    const { lost, connection } = parts;
    const listener = listenerOf(parts, 2);
    listener.events.message('+switch-master', 'other old 7 new 7');
    listener.events.message('+switch-master', 'main older 7 old 7');
    expect(lost).toEqual([]);
    listener.events.message('+switch-master', 'main old 7 new 7');
    expect(lost).toEqual(['Error: the primary is new:7 now, no longer old:7']);
    connection.close();
  });

  test('is lost when a sentinel that was away says so once it is listened to again', async () => {
    const parts = await connected();
    const { lost, say, connection } = parts;
    await listenAgain(parts, 1);
    await say(1, 'old', 1);
    await say(2, 'new', 2);
    await say(3, 'old', 1);
    expect(lost).toEqual(['Error: the primary is new:7 now, no longer old:7']);
    connection.close();
  });

  test('is watched over for as long as there is one, and leaves nothing behind', async () => {
    const { timers, sentinels, connection, dial } = await connected();
    const second = dial();
    connection.close();
    expect(sentinels.open.filter((to) => to.startsWith('sentinel')).length).toBeGreaterThan(0);
    second.close();
    expect(sentinels.open).toEqual([]);
    expect(timers.size).toBe(0);
  });

  test('does without a sentinel that lets nobody in, and tries it again later, with more patience', async () => {
    const { timers, clock, sentinels, dial, say } = setUp();
    const connection = dial();
    await clock.settle();
    for (const port of [1, 2, 3]) await say(port, 'old', 1);
    for (const waitMs of [500, 1_000, 2_000, 2_000]) {
      expect(sentinels.open.sort()).toEqual(['old:7', ...LISTENED_TO]);
      await clock.advance(waitMs - 1);
      expect(sentinels.open.sort()).toEqual(['old:7', ...LISTENED_TO]);
      await clock.advance(1);
      expect(sentinels.open).toEqual(['old:7']);
      await clock.advance(9_999);
      expect(sentinels.open).toEqual(['old:7']);
      await clock.advance(1);
    }
    expect(clock.refdTimers).toBe(0);
    connection.close();
    expect(timers.size).toBe(0);
  });
});
