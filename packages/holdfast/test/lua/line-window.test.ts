/** When a free key is left to guests, who have no place in the line, and for how long. */
import { describe, expect, test } from 'vitest';
import { useDatabase } from './database.ts';
import { CHANNEL, KEY, LINE, Line } from './line.ts';

const database = useDatabase();

describe.each(['lock', 'mutex'] as const)('the line of a %s', (kind) => {
  const line = new Line(kind, database);

  /** An owner of ours, these behind it, and what is known of the run so far. */
  async function queue(sessions: readonly string[], fields: Record<string, number> = {}): Promise<void> {
    await line.ask('a');
    for (const session of sessions) {
      await line.listen(session);
      await line.held(session);
    }
    if (Object.keys(fields).length > 0) await database.redis.hset(LINE, fields);
  }

  test.each([
    { tickets: 1, listeners: 1, owners: 2 },
    { tickets: 5, listeners: 1, owners: 6 },
    { tickets: 5, listeners: 2, owners: 3 },
    { tickets: 5, listeners: 3, owners: 2 },
    { tickets: 2, listeners: 5, owners: 1 },
  ])('with $tickets in line and $listeners guests is left to one after $owners owners', async (given) => {
    const sessions = Array.from({ length: given.tickets }, (_, i) => `s${i}`);
    for (let i = 0; i < given.listeners; i += 1) await database.listen(CHANNEL);
    await queue(sessions, { run: given.owners - 1 });
    expect(await line.release('a')).toEqual({ is: 'RELEASED', receivers: 0 });
    expect(await line.owner()).toBe('s0');
    await line.held('a');
    await database.redis.hset(LINE, 'run', given.owners);
    expect(await line.release('s0')).toEqual({ is: 'RELEASED', receivers: given.listeners });
    expect(await line.owner()).toBeNull();
    expect(await line.field('run')).toBe(0);
    expect(await line.field('window')).toBe(5);
  });

  test('without guests hands over for ever', async () => {
    await queue(['b', 'c'], { run: 1_000_000 });
    await line.release('a');
    expect(await line.owner()).toBe('b');
    expect(await line.field('run')).toBe(1_000_001);
  });

  test('tells a release that is to tell nobody no guests', async () => {
    const guest = await database.listen(CHANNEL);
    await queue(['b'], { run: 100 });
    await line.release('a', { mode: 'nobody' });
    expect(await line.owner()).toBe('b');
    expect(await guest.heard()).toEqual([]);
  });

  test('left to guests tells them, and the first who hears when to ask', async () => {
    const guest = await database.listen(CHANNEL);
    await line.ask('a');
    await line.held('dead');
    const b = await line.listen('b');
    await line.held('b');
    await database.redis.hset(LINE, 'run', 10);
    await line.release('a');
    expect(await guest.heard()).toEqual(['0']);
    // Whoever is first in line for a lock listens with the guests, and asks at once to be told for how long.
    expect(await b.heard()).toEqual([`a ${line.echoOf('b')} ${kind === 'lock' ? 0 : 5}`]);
  });

  test('left to guests gives none of ours the key, and says for how long', async () => {
    await queue(['b']);
    await database.redis.del(KEY);
    const ours = [
      line.askCall('b', { number: 2 }),
      line.askCall('c', { mode: '' }),
      line.askCall('d'),
      line.releaseCall('e'),
    ];
    for (const { script } of ours) await database.load(script);
    const open = `local time = redis.call('TIME')
      return redis.call('HSET', KEYS[1], 'open', time[1] * 1000 + math.floor(time[2] / 1000) + 80)`;
    const [, ...answers] = await Promise.all([
      database.redis.eval(open, 1, LINE),
      ...ours.map((call) => database.send(call)),
    ]);
    for (const answer of answers.slice(0, 3) as [number, number, number, string, number, number, number][]) {
      expect(answer[2]).toBe(-2);
      expect(answer[6]).toBeGreaterThan(0);
      expect(answer[6]).toBeLessThanOrEqual(80);
    }
    expect(await line.owner()).toBeNull();
  });

  test('left to guests goes to one of ours who cannot be told of its turn, and listens with them', async () => {
    await queue(['b']);
    await line.held('deaf', { mode: 'n' });
    await line.held('e', { mode: 'n' });
    await database.redis.del(KEY);
    const ours = [line.askCall('b', { number: 2 }), line.askCall('deaf', { mode: 'n', number: 2 })];
    for (const { script } of ours) await database.load(script);
    const open = `local time = redis.call('TIME')
      local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
      return redis.call('HSET', KEYS[1], 'open', now_ms + 80, 'window', 80)`;
    await Promise.all([database.redis.eval(open, 1, LINE), ...ours.map((call) => database.send(call))]);
    expect(await line.owner()).toBe('deaf');
    expect(await line.order()).toEqual(['b', 'e']);
    // Somebody has taken the window: it is over, and the next is a short one.
    expect([await line.field('open'), await line.field('window')]).toEqual([0, 0]);
    await line.release('deaf');
    expect(await line.owner()).toBe('b');
  });

  test('goes to the first in line after the window', async () => {
    await queue(['b'], { open: (await database.nowMs()) - 1 });
    await database.redis.del(KEY);
    expect((await line.ask('b', { number: 2 })).is).toBe('GRANTED');
  });

  test('takes a window that is further off than any for one of a clock that was set back', async () => {
    await queue(['b'], { open: (await database.nowMs()) + 3_600_000 });
    await database.redis.del(KEY);
    expect((await line.ask('b', { number: 2 })).is).toBe('GRANTED');
  });

  test.each([
    [0, 5],
    [5, 10],
    [40, 80],
    [80, 80],
  ])('after a window of %d ms that nobody took has one of %d', async (window, next) => {
    await database.listen(CHANNEL);
    await queue(['b'], { run: 10, window, since: (await database.nowMs()) - 10 * window });
    await line.release('a', { isRun: true });
    expect(await line.field('window')).toBe(next);
    expect(await line.owner()).toBeNull();
  });

  test('leaves no more than an eleventh of the time to guests who take nothing', async () => {
    await database.listen(CHANNEL);
    await queue(['b'], { run: 10, window: 80 });
    await line.release('a');
    expect(await line.owner()).toBe('b');
  });

  test('begins with short windows again once a guest was seen as the owner', async () => {
    await line.holdByGuest();
    await line.held('b');
    await database.redis.hset(LINE, 'window', 80);
    await line.held('b');
    expect(await line.field('window')).toBe(0);
  });

  test('does not wait for a clock that was set back', async () => {
    await database.listen(CHANNEL);
    await queue(['b'], { run: 10, window: 80, since: (await database.nowMs()) + 3_600_000 });
    await line.release('a', { isRun: true });
    expect(await line.owner()).toBeNull();
  });

  test('tells the next when to ask, if the first leaves while it is left to guests', async () => {
    const c = await line.listen('c');
    await queue(['b']);
    await line.held('c');
    await database.redis.del(KEY);
    const leave = line.releaseCall('b');
    await database.load(leave.script);
    const open = `local time = redis.call('TIME')
      return redis.call('HSET', KEYS[1], 'open', time[1] * 1000 + math.floor(time[2] / 1000) + 80)`;
    await Promise.all([database.redis.eval(open, 1, LINE), database.send(leave)]);
    expect(await c.heard()).toEqual([expect.stringMatching(/^a 1\.1\.c [1-9]\d?$/)]);
  });
});

describe('guests that wait for a lock', () => {
  const line = new Line('lock', database);

  test('have used up their window once one of them is seen as the owner', async () => {
    await line.holdByGuest();
    await line.held('b');
    await database.redis.hset(LINE, { window: 5, open: (await database.nowMs()) + 60 });
    await line.held('b');
    expect([await line.field('open'), await line.field('window')]).toEqual([0, 0]);
  });

  test('wait longer for the next window after each turn of theirs that the first in line has heard the end of', async () => {
    await line.holdByGuest();
    await line.held('b');
    await line.held('c');
    await database.redis.hset(LINE, { window: 5 });
    for (const { heard, window } of [
      { window: 0 },
      // The same turn, renewed.
      { window: 0 },
      { heard: 1, window: -1 },
      { heard: 2, window: -3 },
      { window: -3 },
      { heard: 99, window: -8 },
    ]) {
      await line.held('b', heard === undefined ? {} : { heard });
      expect(await line.field('window')).toBe(window);
    }
  });

  test('are counted by the first in line alone, and not after an owner of ours', async () => {
    await line.holdByGuest();
    await line.held('b');
    await line.held('c', { heard: 2 });
    expect(await line.field('window')).toBe(0);
    await database.redis.hset(LINE, { run: 1 });
    await line.held('b', { heard: 2 });
    expect(await line.field('window')).toBe(0);
  });

  test('are counted by an ask that gets the lock too', async () => {
    await line.holdByGuest();
    await line.held('b');
    await database.redis.hset(LINE, { window: 5 });
    await database.redis.del(KEY);
    expect((await line.ask('b', { heard: 3, number: 2 })).is).toBe('GRANTED');
    expect([await line.field('window'), await line.field('run')]).toEqual([-3, 1]);
  });

  test('are counted by an ask that finds the key left to them', async () => {
    await line.holdByGuest();
    await line.held('b');
    await database.redis.del(KEY);
    const ask = line.askCall('b', { heard: 1, number: 2 });
    await database.load(ask.script);
    const open = `local time = redis.call('TIME')
      local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
      return redis.call('HSET', KEYS[1], 'open', now_ms + 80, 'window', 80)`;
    const [, answer] = await Promise.all([database.redis.eval(open, 1, LINE), database.send(ask)]);
    expect((answer as number[])[6]).toBeGreaterThan(0);
    expect(await line.field('window')).toBe(-1);
    expect(await line.field('open')).toBeGreaterThan(0);
  });

  // Three processes of ours take part: an owner, and two in line when it releases.
  test.each([
    { window: 0, listeners: 1, owners: 3 },
    { window: -1, listeners: 1, owners: 3 },
    { window: -2, listeners: 1, owners: 6 },
    { window: -3, listeners: 1, owners: 9 },
    { window: -1, listeners: 2, owners: 1 },
    { window: -2, listeners: 2, owners: 3 },
    { window: -3, listeners: 2, owners: 4 },
    { window: -8, listeners: 7, owners: 3 },
  ])(
    'get a window after $owners owners where $listeners listen and their turns are noted as $window',
    async ({ window, listeners, owners }) => {
      for (let i = 0; i < listeners; i += 1) await database.listen(CHANNEL);
      await line.ask('a');
      for (const session of ['b', 'c']) {
        await line.listen(session);
        await line.held(session);
      }
      await database.redis.hset(LINE, { window, run: owners - 1 });
      await line.release('a');
      expect(await line.owner()).toBe('b');
      await line.listen('a');
      await line.held('a', { number: 2 });
      await database.redis.hset(LINE, { window, run: owners });
      await line.release('b', { isRun: true });
      expect(await line.owner()).toBeNull();
      expect(await line.field('window')).toBe(5);
    },
  );

  test('come first for 5 ms where nobody of ours waits, in a line that expires', async () => {
    await database.listen(CHANNEL);
    await line.ask('a');
    const before = await database.nowMs();
    expect(await line.release('a')).toEqual({ is: 'RELEASED', receivers: 1 });
    expect(await line.field('open')).toBeGreaterThanOrEqual(before + 5);
    await database.expectTtl(LINE, 20_000);
  });

  test('cost nothing once they are gone: the next release takes the line away', async () => {
    await line.ask('a');
    await line.held('b');
    await line.release('b');
    await line.release('a');
    expect(await database.redis.exists(LINE)).toBe(0);
  });
});

describe('guests that poll for a mutex', () => {
  const line = new Line('mutex', database);

  test.each([
    { ranMs: 30, seenMs: null, least: 0, most: 0 },
    { ranMs: 1_000, seenMs: null, least: 20, most: 40 },
    { ranMs: 200, seenMs: 1_000, least: 25, most: 50 },
    { ranMs: 60_000, seenMs: null, least: 80, most: 80 },
    { ranMs: 1_000, seenMs: -3_600_000, least: 20, most: 40 },
  ])(
    'get $least ms after a run of $ranMs ms, seen $seenMs ms ago',
    async ({ ranMs, seenMs, least, most }) => {
      await line.listen('b');
      await line.ask('a');
      await line.held('b');
      const release = line.releaseCall('a');
      await database.load(release.script);
      const ran = `local time = redis.call('TIME')
      local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
      return redis.call('HSET', KEYS[1], 'since', now_ms - ARGV[1], 'guest', ARGV[2] == '' and 0 or now_ms - ARGV[2])`;
      const known = [`${ranMs}`, seenMs === null ? '' : `${seenMs}`] as const;
      await Promise.all([database.redis.eval(ran, 1, LINE, ...known), database.send(release)]);
      expect(await line.field('window')).toBeGreaterThanOrEqual(least);
      expect(await line.field('window')).toBeLessThanOrEqual(most);
      expect(await line.owner()).toBe(least === 0 ? 'b' : null);
    },
  );

  test('get no window where nobody of ours waits', async () => {
    await line.ask('a');
    await line.held('b');
    await line.release('b');
    await database.redis.hset(LINE, 'since', (await database.nowMs()) - 60_000);
    await line.release('a', { isRun: true });
    expect(await database.redis.exists(LINE)).toBe(0);
  });
});
