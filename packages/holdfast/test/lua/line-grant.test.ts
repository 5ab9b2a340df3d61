/** How a release makes the first in line the owner, and who is passed over. */
import { describe, expect, test } from 'vitest';
import { useDatabase } from './database.ts';
import { CHANNEL, CLAIM_MS, FENCE, FENCE_TTL_MS, KEY, LEASE_MS, LINE, Line } from './line.ts';

const database = useDatabase();

/** Processes that have died, or whose subscription is not there. */
function names(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}${i}`);
}

describe.each(['lock', 'mutex'] as const)('a release of a %s', (kind) => {
  const line = new Line(kind, database);

  /** An owner, and these behind it. */
  async function queue(...sessions: string[]): Promise<void> {
    await line.ask('a');
    for (const session of sessions) await line.held(session);
  }

  test('makes the first in line the owner for as long as its claim, and tells it alone', async () => {
    const [b, c, all] = [await line.listen('b'), await line.listen('c'), await database.listen(CHANNEL)];
    await queue('b', 'c');
    expect(await line.release('a', { mode: 'nobody' })).toEqual({ is: 'RELEASED', receivers: 0 });
    expect(await line.owner()).toBe('b');
    await database.expectTtl(KEY, CLAIM_MS);
    expect(await b.heard()).toEqual([expect.stringMatching(/^g 1\.1\.b \d+ \d$/)]);
    expect([await c.heard(), await all.heard()]).toEqual([[], []]);
    expect(await line.order()).toEqual(['c']);
  });

  test('serves all in their order, and the last leaves no line', async () => {
    for (const session of ['b', 'c', 'd']) await line.listen(session);
    await queue('b', 'c', 'd');
    const owners: (string | null)[] = [];
    for (const session of ['a', 'b', 'c', 'd']) {
      expect(await line.release(session)).toMatchObject({ is: 'RELEASED' });
      owners.push(await line.owner());
    }
    expect(owners).toEqual(['b', 'c', 'd', null]);
    expect(await database.redis.exists(LINE)).toBe(0);
  });

  test('that is repeated does no harm', async () => {
    const b = await line.listen('b');
    await queue('b', 'c');
    await line.release('a');
    await b.heard();
    const before = await database.contents();
    expect(await line.release('a', { isRun: true })).toEqual({ is: 'GONE' });
    expect(await database.contents()).toEqual(before);
    expect(await b.heard()).toEqual([]);
  });

  test('is followed by an ask of the new owner, which gets the whole lease and no place', async () => {
    await line.listen('b');
    await queue('b', 'c');
    await line.release('a');
    expect((await line.ask('b', { number: 2 })).is).toBe('GRANTED');
    await database.expectTtl(KEY, LEASE_MS);
    expect(await line.order()).toEqual(['c']);
  });

  test('passes over who does not hear, marks it as deaf, and leaves it its place', async () => {
    const d = await line.listen('d');
    await queue('b', 'c', 'd');
    await line.release('a');
    expect(await line.owner()).toBe('d');
    expect(await d.heard()).toHaveLength(1);
    expect(await line.order()).toEqual(['b', 'c']);
    expect((await line.ticketOf('b')).split(' ')[8]).toBe('n');
    expect(await line.held('b', { number: 2 })).toMatchObject({ place: 1, tickets: 2 });
    expect((await line.ticketOf('b')).split(' ')[8]).toBe('p');
  });

  test('sends no grant to who does not listen: somebody else might pass it on', async () => {
    const passer = database.redis.duplicate();
    const passed: string[] = [];
    passer.on('pmessage', (_pattern: string, _channel: string, text: string) => passed.push(text));
    await passer.psubscribe('*');
    const d = await line.listen('d');
    await queue('b', 'c', 'd');
    await line.release('a');
    expect(await line.owner()).toBe('d');
    expect(await d.heard()).toHaveLength(1);
    await passer.ping();
    expect(passed.filter((text) => text.startsWith('g '))).toEqual([expect.stringMatching(/^g 1\.1\.d /)]);
    await passer.quit();
  });

  test('tells nothing to who says that it does not hear', async () => {
    const b = await line.listen('b');
    await line.ask('a');
    await line.held('b', { mode: 'n' });
    await line.release('a');
    expect(await b.heard()).toEqual([]);
    expect(await line.owner()).toBeNull();
    expect(await line.order()).toEqual(['b']);
  });

  test('frees the key where nobody hears, and tells it to everybody', async () => {
    const all = await database.listen(CHANNEL);
    await queue('b');
    expect(await line.release('a')).toEqual({ is: 'RELEASED', receivers: 1 });
    expect(await line.owner()).toBeNull();
    expect(await all.heard()).toEqual(['0']);
    expect((await line.ask('b', { number: 2 })).is).toBe('GRANTED');
  });

  test('reaches whoever hears behind many that have died', async () => {
    const dead = names('dead', 300);
    await line.listen('z');
    await queue(...dead, 'z');
    await line.release('a');
    expect(await line.owner()).toBe('z');
    expect(await line.order()).toEqual(dead);
  });

  test('goes on behind one deaf process, however often', async () => {
    await line.listen('b');
    await line.listen('c');
    await line.ask('c');
    await line.held('deaf', { mode: 'n' });
    for (let i = 0; i < 100; i += 1) {
      const [owner, waiter] = i % 2 === 0 ? ['c', 'b'] : ['b', 'c'];
      await line.held(waiter as string);
      await line.release(owner as string);
      expect(await line.owner()).toBe(waiter);
    }
    expect(await line.order()).toEqual(['deaf']);
    // The empty places behind it are never many.
    expect((await line.field('last')) - (await line.field('first'))).toBeLessThan(70);
    await database.redis.del(KEY);
    expect((await line.ask('deaf', { mode: 'n', number: 2 })).is).toBe('GRANTED');
  });

  test('reaches the end over many places that were left', async () => {
    await line.listen('z');
    await queue('deaf');
    for (const session of names('gone', 300)) {
      await line.held(session);
      await line.release(session);
    }
    await line.held('z');
    await line.release('a');
    expect(await line.owner()).toBe('z');
    expect(await line.order()).toEqual(['deaf']);
  });

  test('drops who has not asked for 15 s, and tells it to ask', async () => {
    const [b, c] = [await line.listen('b'), await line.listen('c')];
    await queue('b', 'c');
    const late = (await line.ticketOf('b')).split(' ');
    late[6] = String((await database.nowMs()) - 1);
    await database.redis.hset(LINE, '1', late.join(' '));
    await line.release('a');
    expect(await line.owner()).toBe('c');
    expect(await b.heard()).toEqual([`a ${line.echoOf('b')} 0`]);
    expect(await c.heard()).toHaveLength(1);
    expect(await line.order()).toEqual([]);
  });

  test('drops whose deadline is of a clock that was set back', async () => {
    await line.listen('b');
    await line.listen('c');
    await queue('b', 'c');
    const far = (await line.ticketOf('b')).split(' ');
    far[6] = String((await database.nowMs()) + 3_600_000);
    await database.redis.hset(LINE, '1', far.join(' '));
    await line.release('a');
    expect(await line.owner()).toBe('c');
  });

  test.each([
    ['s', 'sharded'],
    ['p', 'plain'],
    ['b', 'plain'],
  ] as const)('tells a ticket of mode %s on the %s channel', async (mode, listens) => {
    const b = await line.listen('b', listens);
    const other = await line.listen('b', listens === 'plain' ? 'sharded' : 'plain');
    await line.ask('a');
    await line.held('b', { mode });
    await line.release('a');
    expect(await line.owner()).toBe('b');
    expect([(await b.heard()).length, await other.heard()]).toEqual([1, []]);
  });

  test('counts a ticket of mode b as heard, because only the listeners of one server are counted', async () => {
    await line.ask('a');
    await line.held('b', { mode: 'b' });
    await line.release('a');
    expect(await line.owner()).toBe('b');
  });

  test.each(['with space', 'a{b}c', 'new\nline', 'n\0l', '\0'])(
    'is heard on a channel called %j',
    async (name) => {
      const channel = `holdfast_line:${name}`;
      const b = await database.listen(channel);
      await line.ask('a');
      await line.held('b', { channel });
      await line.release('a');
      expect(await line.owner()).toBe('b');
      expect(await b.heard()).toHaveLength(1);
    },
  );

  test('of a hold that is gone settles the line all the same', async () => {
    await line.listen('b');
    await queue('b');
    await database.redis.del(KEY);
    expect(await line.release('a')).toEqual({ is: 'GONE' });
    expect(await line.owner()).toBe('b');
  });

  test('of a wait settles the line too', async () => {
    await line.listen('c');
    await queue('b', 'c');
    await database.redis.del(KEY);
    expect(await line.release('b')).toEqual({ is: 'LEFT' });
    expect(await line.owner()).toBe('c');
  });

  test('works where the server is out of memory, and so does the grant', async () => {
    await line.listen('b');
    await queue('b');
    await database.whileOutOfMemory(async () => {
      await expect(line.ask('c')).rejects.toThrow(/^OOM/);
      expect(await line.release('a')).toMatchObject({ is: 'RELEASED' });
    });
    expect(await line.owner()).toBe('b');
    await database.expectTtl(KEY, CLAIM_MS);
  });
});

describe('a lock that is given in the line', () => {
  const line = new Line('lock', database);

  test('has the fences that the message tells, and the counter its end and its life', async () => {
    const b = await line.listen('b');
    await line.ask('a');
    await line.held('b', { fences: 65 });
    const before = Number(await database.redis.get(FENCE));
    await line.release('a');
    const [, first, count] = /^g 1\.1\.b (\d+) (\d+)$/.exec((await b.heard())[0] as string) ?? [];
    expect(Number(first)).toBeGreaterThan(before);
    expect(count).toBe('65');
    expect(await database.redis.get(FENCE)).toBe(`${Number(first) + 64}`);
    await database.expectTtl(FENCE, LEASE_MS + FENCE_TTL_MS);
    expect(await database.redis.hgetall(KEY)).toEqual({ [line.holderOf('b')]: '1' });
  });

  test('answers its owner with the last of these fences and reserves no more', async () => {
    await line.listen('b');
    await line.ask('a');
    await line.held('b', { fences: 65 });
    await line.release('a');
    const last = Number(await database.redis.get(FENCE));
    for (const number of [2, 3]) {
      expect(await line.ask('b', { number, fences: 65 })).toMatchObject({
        is: 'GRANTED',
        firstFence: last,
        fences: 1,
      });
    }
    expect(await database.redis.get(FENCE)).toBe(`${last}`);
  });

  test('keeps a counter without an expiry as it is', async () => {
    await line.listen('b');
    await database.redis.set(FENCE, '7');
    await line.ask('a');
    await line.held('b');
    await line.release('a');
    expect(await line.owner()).toBe('b');
    await database.expectNoTtl(FENCE);
  });

  test.each([
    ['SET', FENCE, 'no number'],
    ['RPUSH', FENCE, 'a list'],
  ])(
    'is given to nobody where the counter is no number: %s; the first is told to ask, and is told why',
    async (command, ...rest) => {
      const b = await line.listen('b');
      await line.ask('a');
      await line.held('b');
      await database.redis.del(FENCE);
      await database.redis.call(command as string, ...rest);
      expect(await line.release('a')).toEqual({ is: 'RELEASED', receivers: 0 });
      expect(await line.owner()).toBeNull();
      expect(await b.heard()).toEqual([`a ${line.echoOf('b')} 0`]);
      await expect(line.ask('b', { number: 2 })).rejects.toThrow(/^WRONGTYPE/);
      await expect(line.ask('c')).rejects.toThrow(/^WRONGTYPE/);
      expect(await line.owner()).toBeNull();
    },
  );

  test('is not given where another field is left: all hear of it, and who asks is told what stands there', async () => {
    const [b, all] = [await line.listen('b'), await database.listen(CHANNEL)];
    await line.ask('a');
    await line.held('b');
    await database.redis.hset(KEY, 'mode', 'read', 'other', 'x');
    expect(await line.release('a')).toEqual({ is: 'RELEASED', receivers: 1 });
    expect(await database.redis.hgetall(KEY)).toEqual({ mode: 'read', other: 'x' });
    expect([await b.heard(), await all.heard()]).toEqual([[`a ${line.echoOf('b')} 0`], ['0']]);
    expect((await line.ask('b', { number: 2 })).is).toBe('CONFLICT');
  });
});
