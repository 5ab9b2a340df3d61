/** How a process gets its place in the line of waiters, and what it is told of it. */
import { describe, expect, test } from 'vitest';
import { useDatabase } from './database.ts';
import { KEY, LINE, Line } from './line.ts';

const database = useDatabase();

describe.each(['lock', 'mutex'] as const)('a %s', (kind) => {
  const line = new Line(kind, database);

  test('that is free and has no line is granted, and no line is made', async () => {
    expect((await line.ask('a')).is).toBe('GRANTED');
    expect(await database.redis.exists(LINE)).toBe(0);
  });

  test('that is held gives each process a place at the end, and says which', async () => {
    await line.ask('a');
    expect(await line.held('b')).toMatchObject({ place: 1, tickets: 1, openMs: 0, isGuest: 0 });
    expect(await line.held('c')).toMatchObject({ place: 2, tickets: 2 });
    expect(await line.held('d')).toMatchObject({ place: 3, tickets: 3 });
    expect(await line.order()).toEqual(['b', 'c', 'd']);
  });

  test('has a line with eight fields and two for each process, that expires 20 s after the last ask', async () => {
    await line.ask('a');
    await line.held('b');
    expect(Object.keys(await database.redis.hgetall(LINE)).sort()).toEqual(
      [
        `#${line.holderOf('b')}`,
        ...['1', 'first', 'guest', 'last', 'linger', 'open', 'run', 'since', 'window'],
      ].sort(),
    );
    await database.redis.pexpire(LINE, 5_000);
    await line.held('b');
    await database.expectTtl(LINE, 20_000);
  });

  test('keeps the place and the age of a process that asks again, and what it states is new', async () => {
    await line.ask('a');
    await line.held('b');
    await line.held('c', { mode: 'n' });
    const before = (await line.ticketOf('c')).split(' ');
    expect(await line.held('c', { number: 2, channel: 'with spaces {and braces}' })).toMatchObject({
      place: 2,
      tickets: 2,
    });
    const after = (await line.ticketOf('c')).split(' ');
    expect(after[1]).toBe('1.2.c');
    expect(after[7]).toBe(before[7]);
    expect(after.slice(8).join(' ')).toBe('p with spaces {and braces}');
    expect(await line.order()).toEqual(['b', 'c']);
  });

  test('says whether its owner is a guest, and notes of a mutex when one was seen', async () => {
    await line.holdByGuest();
    expect(await line.held('b')).toMatchObject({ place: 1, isGuest: 1 });
    const seenMs = await line.field('guest');
    if (kind === 'lock') expect(seenMs).toBe(0);
    else expect(Math.abs(seenMs - (await database.nowMs()))).toBeLessThan(10_000);
  });

  test.each(['', '-'])('that is held gives no place to an ask with the ticket %j', async (mode) => {
    await line.ask('a');
    await line.held('b');
    const before = await database.contents();
    expect(await line.held('c', { mode })).toMatchObject({ place: 0, tickets: 0 });
    expect(await database.contents()).toEqual(before);
  });

  test('with a full line tells how many wait and gives no place', async () => {
    await line.ask('a');
    await line.held('b');
    const fill = `for i = 2, 10000 do redis.call('HSET', KEYS[1], i, 'x', '#' .. i, i) end
      redis.call('HSET', KEYS[1], 'last', 10000)`;
    await database.redis.eval(fill, 1, LINE);
    expect(await line.held('c')).toMatchObject({ place: 0, tickets: 10_000 });
    expect(await line.held('b')).toMatchObject({ place: 1, tickets: 10_000 });
  });

  test('refuses a ticket that lacks a part, and writes nothing', async () => {
    await line.ask('a');
    const before = await database.contents();
    const { script, keys, args } = line.askCall('b');
    await expect(database.run({ script, keys, args: [...args.slice(0, -1), '1.1.b p'] })).rejects.toThrow(
      /expected a ticket of four parts/,
    );
    expect(await database.contents()).toEqual(before);
  });

  test('loses the place of a process that leaves, and the next is told to ask', async () => {
    const [b, c] = [await line.listen('b'), await line.listen('c')];
    await line.ask('a');
    for (const session of ['b', 'c', 'd']) await line.held(session);
    expect(await line.release('b')).toEqual({ is: 'LEFT' });
    expect(await line.order()).toEqual(['c', 'd']);
    expect([await b.heard(), await c.heard()]).toEqual([[], [`a ${line.echoOf('c')} 0`]]);
    expect(await line.held('c')).toMatchObject({ place: 1, tickets: 2 });
    expect(await line.held('d')).toMatchObject({ place: 2, tickets: 2 });
    expect(await line.owner()).toBe('a');
  });

  test('is left a second time without harm', async () => {
    await line.ask('a');
    await line.held('b');
    await line.release('b');
    const before = await database.contents();
    expect(await line.release('b', { isRun: true })).toEqual({ is: 'GONE' });
    expect(await database.contents()).toEqual(before);
  });

  test('is told nobody of a leave far from the front', async () => {
    const b = await line.listen('b');
    await line.ask('a');
    for (const session of ['b', 'c', 'd']) await line.held(session);
    await line.release('d');
    expect(await b.heard()).toEqual([]);
  });

  test('that loses everything is granted to whoever asks next', async () => {
    await line.ask('a');
    await line.held('b');
    await line.held('c');
    await database.redis.flushall();
    expect((await line.ask('c')).is).toBe('GRANTED');
    expect(await line.held('b')).toMatchObject({ place: 1, tickets: 1 });
  });

  test('answers a late ask without a place', async () => {
    await line.ask('a');
    const { script, keys, args } = line.askCall('b');
    const at = kind === 'lock' ? 4 : 2;
    const late = args.map((arg, i) => (i === at ? '1' : arg));
    await database.run({ script, keys, args: late });
    expect(await database.redis.exists(LINE)).toBe(0);
  });

  test('that is free goes to the one who has waited longest, when others ask', async () => {
    const b = await line.listen('b');
    await line.ask('a');
    await line.held('b');
    await line.held('c');
    await database.redis.del(KEY);
    expect(await line.held('d')).toMatchObject({ place: 2, tickets: 2 });
    expect(await line.owner()).toBe('b');
    expect(await b.heard()).toEqual([expect.stringMatching(/^g 1\.1\.b \d+ \d$/)]);
    expect(await line.order()).toEqual(['c', 'd']);
  });

  test('that is free goes to the first in line when it asks, for the whole lease', async () => {
    await line.ask('a');
    await line.held('b');
    await line.held('c');
    await database.redis.del(KEY);
    expect((await line.ask('b', { number: 2 })).is).toBe('GRANTED');
    await database.expectTtl(KEY, 30_000);
    expect(await line.order()).toEqual(['c']);
  });

  test('that is free is not taken by a try while somebody in line hears', async () => {
    await line.listen('b');
    await line.ask('a');
    await line.held('b');
    await database.redis.del(KEY);
    expect(await line.held('c', { mode: '' })).toMatchObject({ place: 0 });
    expect(await line.owner()).toBe('b');
  });

  test('that is free is taken by a try where nobody in line hears, and counts as an owner of ours', async () => {
    await line.ask('a');
    await line.held('b');
    await database.redis.del(KEY);
    expect((await line.ask('c', { mode: '' })).is).toBe('GRANTED');
    expect(await line.order()).toEqual(['b']);
    expect(await line.field('run')).toBe(1);
  });

  test('on a server of a quorum has no line, whatever stands there', async () => {
    await line.listen('b');
    await line.ask('a');
    await line.held('b');
    expect(await line.release('a', { isVote: 1 })).toEqual({ is: 'RELEASED', receivers: 0 });
    expect(await line.owner()).toBeNull();
    expect((await line.ask('c', { mode: '-' })).is).toBe('GRANTED');
    expect(await line.order()).toEqual(['b']);
  });
});
