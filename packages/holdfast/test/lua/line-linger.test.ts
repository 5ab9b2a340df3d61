/** An owner that may keep the lock for a moment that nobody uses it: it is told when somebody wants it. */
import { describe, expect, test } from 'vitest';
import { useDatabase } from './database.ts';
import { KEY, LINE, Line } from './line.ts';

const database = useDatabase();

describe.each(['lock', 'mutex'] as const)('the owner of a %s', (kind) => {
  const line = new Line(kind, database);

  test('that may keep it is noted in a line that expires', async () => {
    expect((await line.ask('a', { mode: 'pl' })).is).toBe('GRANTED');
    expect(await database.redis.hget(LINE, 'linger')).toBe(
      `${line.holderOf('a')} ${line.echoOf('a')} p ${line.channelOf('a')}`,
    );
    await database.expectTtl(LINE, 20_000);
  });

  test.each(['p', '', '-', 'nl'])('with the mode %j is not noted', async (mode) => {
    await line.ask('a', { mode });
    expect(await database.redis.exists(LINE)).toBe(0);
  });

  test.each(['p', ''])('that may keep it is told of each ask of mode %j', async (mode) => {
    const a = await line.listen('a');
    await line.ask('a', { mode: 'pl' });
    for (const number of [1, 2]) await line.held('b', { mode, number });
    expect(await a.heard()).toEqual([`w ${line.echoOf('a')}`, `w ${line.echoOf('a')}`]);
  });

  test('that may keep it on a channel with any bytes is told', async () => {
    const channel = 'holdfast_line:{n\0 \nl}:a';
    const a = await database.listen(channel, 'sharded');
    await line.ask('a', { mode: 'sl', channel });
    await line.held('b');
    expect(await a.heard()).toEqual([`w ${line.echoOf('a')}`]);
  });

  test('after one that might keep it is told nothing', async () => {
    const [a, b] = [await line.listen('a'), await line.listen('b')];
    await line.ask('a', { mode: 'pl' });
    await line.held('b');
    await line.release('a');
    await Promise.all([a.heard(), b.heard()]);
    await line.held('c');
    expect([await a.heard(), await b.heard()]).toEqual([[], []]);
  });

  test('with others in line does not keep it, and is told how many they are', async () => {
    await line.ask('a');
    await line.held('b');
    await line.held('c');
    await database.redis.del(KEY);
    expect(await line.ask('b', { mode: 'pl', number: 2 })).toMatchObject({ is: 'GRANTED', tickets: 1 });
    expect(await database.redis.hget(LINE, 'linger')).toBe('');
  });

  test('is noted when it asks again, if its first ask could not say that it may keep it', async () => {
    const a = await line.listen('a');
    await line.ask('a', { mode: 'p' });
    expect(await line.ask('a', { mode: 'pl', number: 2 })).toMatchObject({ is: 'GRANTED' });
    await line.held('b');
    expect(await a.heard()).toEqual([`w ${line.echoOf('a', 2)}`]);
  });

  test('that asks again with others in line does not keep it', async () => {
    await line.ask('a', { mode: 'pl' });
    await line.held('b');
    expect(await line.ask('a', { mode: 'pl', number: 2 })).toMatchObject({ is: 'GRANTED', tickets: 1 });
  });

  test('leaves no line when it releases', async () => {
    await line.ask('a', { mode: 'pl' });
    await line.release('a');
    expect(await database.redis.exists(LINE)).toBe(0);
  });

  test('takes a free key that has an empty line without a place', async () => {
    await line.ask('a', { mode: 'pl' });
    await database.redis.del(KEY);
    expect((await line.ask('b', { mode: 'pl' })).is).toBe('GRANTED');
    expect(await line.order()).toEqual([]);
    expect(await database.redis.hget(LINE, 'linger')).toContain(line.holderOf('b'));
  });

  test.each(['-hset', '-pexpire'])(
    'gets it or is refused, and keeps nothing, without rights: %s',
    async (rule) => {
      const user = await database.restricted(rule);
      const answer = await line.ask('a', { mode: 'pl' }, user).catch((error: Error) => error.message);
      if (kind === 'mutex') expect(answer).toMatchObject({ is: 'GRANTED', tickets: 1 });
      else expect(answer).toMatch(/can't run this command|ACL failure|NOPERM/);
      expect(await line.owner()).toBe(kind === 'mutex' ? 'a' : null);
      expect(await database.redis.exists(LINE)).toBe(0);
    },
  );
});
