/** A line that somebody damaged, and users who lack rights: the lock goes on, or says what is wrong. */
import { describe, expect, test } from 'vitest';
import { useDatabase } from './database.ts';
import { CHANNEL, FENCE, KEY, LINE, Line } from './line.ts';

const database = useDatabase();

describe.each(['lock', 'mutex'] as const)('a %s', (kind) => {
  const line = new Line(kind, database);

  describe.each([
    ['SET', LINE, 'x'],
    ['RPUSH', LINE, 'x'],
  ])('with a value of another type under the key of its line: %s', (command, ...rest) => {
    test('is released all the same', async () => {
      const all = await database.listen(CHANNEL);
      await line.ask('a');
      await database.redis.call(command, ...rest);
      expect(await line.release('a')).toEqual({ is: 'RELEASED', receivers: 1 });
      expect(await all.heard()).toEqual(['0']);
      expect(await line.release('a')).toEqual({ is: 'GONE' });
      expect(await line.owner()).toBeNull();
    });

    test('is a conflict that names the line, and nothing is touched', async () => {
      await database.redis.call(command, ...rest);
      const before = await database.contents();
      const found = 'something else under the key of its line of waiters';
      expect(await line.ask('a')).toMatchObject({ is: 'CONFLICT', found });
      expect(await line.ask('a', { mode: '' })).toMatchObject({ is: 'CONFLICT', found });
      expect(await database.contents()).toEqual(before);
      expect((await line.ask('a', { mode: '-' })).is).toBe('GRANTED');
    });
  });

  test.each(['first', 'last', 'open', 'window', 'run', 'since', 'guest', 'linger'])(
    'whose line lacks the field %s begins a new line',
    async (field) => {
      await line.ask('a');
      await line.held('b');
      await database.redis.hdel(LINE, field);
      expect(await line.held('c')).toMatchObject({ place: 1, tickets: 1 });
      if (field !== 'linger') await database.redis.hset(LINE, field, 'no number');
      expect(await line.release('a')).toMatchObject({ is: 'RELEASED' });
      expect(await line.owner()).toBeNull();
      expect((await line.ask('c', { number: 2 })).is).toBe('GRANTED');
    },
  );

  test('with tickets that cannot be read passes them over', async () => {
    await line.listen('z');
    await line.ask('a');
    for (const session of ['b', 'c', 'd', 'e', 'z']) await line.held(session);
    const zero = (await line.ticketOf('d')).replace(' 10000 ', ' 0 ');
    const huge = (await line.ticketOf('e')).replace(' 10000 ', ' 99999999999999999999 ');
    await database.redis.hset(LINE, '1', 'garbage', '3', zero, '4', huge);
    await database.redis.hdel(LINE, '2');
    await line.release('a');
    expect(await line.owner()).toBe('z');
    expect(await database.redis.pttl(KEY)).toBeGreaterThan(0);
  });

  test('is released by a user who may do nothing with a line', async () => {
    const all = await database.listen(CHANNEL);
    await line.listen('b');
    await line.ask('a');
    await line.held('b');
    const user = await database.restricted('-hlen', '-hmget', '-hset', '-time', '-pttl', '-pubsub');
    expect(await line.release('a', {}, user)).toEqual({ is: 'RELEASED', receivers: 1 });
    expect(await line.owner()).toBeNull();
    expect(await all.heard()).toEqual(['0']);
  });

  test.each([
    'hlen',
    'hmget',
    'hset',
    'hdel',
    'time',
    'pttl',
    'pexpire',
    'set',
    'pubsub',
    'publish',
    'del',
    'get',
  ])('is released by a user without %s, or not at all, and the line goes on', async (command) => {
    await line.listen('b');
    await line.ask('a');
    await line.held('b');
    const user = await database.restricted(`-${command}`);
    const needed = kind === 'lock' ? ['hdel'] : ['get', 'del'];
    const released = line.release('a', {}, user);
    if (needed.includes(command)) {
      await expect(released).rejects.toThrow(/can't run this command|ACL failure|NOPERM/);
      expect(await line.owner()).toBe('a');
      return;
    }
    expect(await released).toMatchObject({ is: 'RELEASED' });
    expect(await line.owner()).not.toBe('a');
    for (const key of await database.redis.keys('*')) {
      expect([key, await database.redis.pttl(key)]).not.toEqual([key, -1]);
    }
    // Whoever may do everything settles what is left.
    if ((await line.owner()) === null) expect((await line.ask('b', { number: 2 })).is).toBe('GRANTED');
    expect(await line.owner()).toBe('b');
  });

  test('whose releaser may not tell the next owner stays free, and is taken by who asks', async () => {
    await line.listen('b');
    await line.ask('a');
    await line.held('b');
    const user = await database.restricted('resetchannels', `&${CHANNEL}`);
    expect(await line.release('a', {}, user)).toMatchObject({ is: 'RELEASED' });
    expect(await line.owner()).toBeNull();
    // That the user may not tell it does not make the process deaf.
    expect((await line.ticketOf('b')).split(' ')[8]).toBe('p');
    expect((await line.ask('b', { number: 2 })).is).toBe('GRANTED');
  });

  test('without the right to set an expiry makes no line', async () => {
    await line.ask('a');
    const before = await database.contents();
    const user = await database.restricted('-pexpire', '-del', '-hdel');
    await expect(line.ask('b', {}, user)).rejects.toThrow(/^NOPERM .* PEXPIRE/);
    expect(await database.contents()).toEqual(before);
  });

  test('is released where a wait was given up that the user may not take out of the line, with an error', async () => {
    await line.ask('a');
    await line.held('b');
    const user = await database.restricted('-hmget');
    await expect(line.release('b', {}, user)).rejects.toThrow(/can't run this command|ACL failure|NOPERM/);
    expect(await line.order()).toEqual(['b']);
  });

  test('leaves nothing behind that never expires when all is over', async () => {
    await line.listen('b');
    await line.ask('a');
    await line.held('b');
    await line.release('a');
    await line.release('b');
    expect(Object.keys(await database.contents())).toEqual(kind === 'lock' ? [FENCE] : []);
  });
});
