/** What one process has learned of the primary is not forgotten because a sentinel knows less. */
import { describe, expect, test } from 'vitest';
import { connected, listenAgain, listenerOf } from './fake-sentinels.ts';

describe('who has heard that the primary was replaced', () => {
  /** As `connected`, and then a sentinel has said that it is another one. */
  async function replaced() {
    const parts = await connected();
    const second = parts.dial();
    await parts.clock.settle();
    const madeBefore = parts.sentinels.dialled.length;
    const tellSwitch = (): void => listenerOf(parts, 2).events.message('+switch-master', 'main old 7 new 7');
    const made = (): string[] => parts.sentinels.dialled.slice(madeBefore).map(({ to }) => to);
    return { ...parts, second, tellSwitch, made };
  }

  test('is not led back by a sentinel that is cut off from the others and answers first', async () => {
    const { clock, tellSwitch, made, say, second, connection } = await replaced();
    tellSwitch();
    await say(1, 'old', 1);
    await clock.advance(1_000);
    expect(made()).toEqual([]);
    await say(2, 'new', 2);
    await clock.advance(250);
    expect(made()).toEqual(['new:7']);
    connection.close();
    second.close();
  });

  test('is not led there by an answer that came before the news', async () => {
    const { clock, tellSwitch, made, say, second, connection } = await replaced();
    await say(1, 'old', 1);
    tellSwitch();
    await clock.advance(1_000);
    expect(made()).toEqual([]);
    await say(3, 'new', 2);
    await clock.advance(250);
    expect(made()).toEqual(['new:7']);
    connection.close();
    second.close();
  });

  test('is told which server the sentinels still name when they name no other in time', async () => {
    const { timers, clock, tellSwitch, say, second, sentinels, connection } = await replaced();
    tellSwitch();
    connection.close();
    await say(1, 'old', 1);
    sentinels.to('sentinel:2').next('connect').refuse('refused');
    await clock.advance(4_000);
    const reasons = 'sentinel:2: refused; old:7 is named, which was replaced; 1 did not answer';
    expect(await second.outcome).toBe(`Error: no sentinel names the primary main: ${reasons}`);
    second.close();
    expect(timers.size).toBe(0);
  });

  test('believes the sentinels all the same when they have said nothing else for half a minute', async () => {
    const { clock, dial, tellSwitch, made, say, second, connection } = await replaced();
    tellSwitch();
    connection.close();
    for (const port of [1, 2, 3]) await say(port, 'old', 1);
    second.close();
    await clock.advance(29_000);
    for (const waitMs of [1_000, 0]) {
      const next = dial();
      await clock.settle();
      for (const port of [1, 2, 3]) await say(port, 'old', 1);
      expect(made().includes('old:7')).toBe(waitMs === 0);
      next.close();
      await clock.advance(waitMs);
    }
  });
});

describe('a connection that is good', () => {
  test('is not given up for what a sentinel says that knows less', async () => {
    const parts = await connected();
    const { lost, say, sentinels, connection } = parts;
    await listenAgain(parts, 1);
    await say(1, 'older', 0);
    for (const port of [2, 3]) sentinels.to(`sentinel:${port}`).next('connect').refuse('refused');
    await parts.clock.settle();
    await listenAgain(parts, 1);
    // Of the same epoch: nobody has elected that one.
    for (const port of [1, 2, 3]) await say(port, 'other', 1);
    expect(lost).toEqual([]);
    connection.close();
  });

  test('is given up for what a later look finds, although nobody answered the one before', async () => {
    const parts = await connected();
    const { clock, lost, say, connection } = parts;
    await listenAgain(parts, 1);
    await clock.advance(2_000);
    await listenAgain(parts, 3);
    for (const port of [1, 2, 3]) await say(port, 'new', 2);
    expect(lost).toEqual(['Error: the primary is new:7 now, no longer old:7']);
    connection.close();
  });

  test('is given up when another one of this process is led to a newer primary', async () => {
    const { clock, dial, lost, say, connection } = await connected();
    const second = dial();
    await clock.settle();
    for (const port of [1, 2, 3]) await say(port, 'new', 2);
    expect(lost).toEqual(['Error: the primary is new:7 now, no longer old:7']);
    connection.close();
    second.close();
  });
});
