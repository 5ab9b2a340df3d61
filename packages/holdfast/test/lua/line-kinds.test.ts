/** A lock and a mutex of one name share a key, and the line beside it. Each script serves waits of its own kind only. */
import { describe, expect, test } from 'vitest';
import { useDatabase } from './database.ts';
import { FENCE, KEY, Line } from './line.ts';

const database = useDatabase();
const lines = { lock: new Line('lock', database), mutex: new Line('mutex', database) } as const;

describe.each([
  { kind: 'lock', other: 'mutex' },
  { kind: 'mutex', other: 'lock' },
] as const)('a wait for a $kind', ({ kind, other }) => {
  const [ours, theirs] = [lines[kind], lines[other]];

  /** One that waits and hears, and a key that is free all the same. */
  async function first() {
    const messages = await ours.listen('b');
    await ours.ask('a');
    await ours.held('b');
    await database.redis.del(KEY);
    return messages;
  }

  test(`is not served by an ask for a ${other}, which gets the free key, and is told to ask itself`, async () => {
    const b = await first();
    const counter = await database.redis.get(FENCE);
    expect((await theirs.ask('z')).is).toBe('GRANTED');
    expect(await theirs.owner()).toBe('z');
    expect(await b.heard()).toEqual([`a ${ours.echoOf('b')} 0`]);
    expect(await ours.order()).toEqual(['b']);
    if (other === 'mutex') expect(await database.redis.get(FENCE)).toBe(counter);
    // And is then told what stands there.
    expect((await ours.ask('b', { number: 2 })).is).toBe('CONFLICT');
  });

  test(`is not served by a try for a ${other}, which gets the free key`, async () => {
    await first();
    expect((await theirs.ask('z', { mode: '' })).is).toBe('GRANTED');
    expect(await ours.order()).toEqual(['b']);
  });

  test(`is passed over by the release of a ${other}, and gets the free key when it asks`, async () => {
    const b = await first();
    await theirs.listen('y');
    await theirs.ask('z');
    await theirs.held('y');
    await b.heard();
    await theirs.release('z');
    expect(await theirs.owner()).toBe('y');
    expect(await b.heard()).toEqual([`a ${ours.echoOf('b')} 0`]);
    await theirs.release('y');
    expect(await theirs.owner()).toBeNull();
    expect((await ours.ask('b', { number: 2 })).is).toBe('GRANTED');
    expect(await ours.owner()).toBe('b');
    expect(await ours.order()).toEqual([]);
  });

  test(`leaves the line while a ${other} stands under its key`, async () => {
    await first();
    await theirs.ask('z');
    expect(await ours.release('b')).toEqual({ is: 'LEFT' });
    expect(await ours.order()).toEqual([]);
    expect(await theirs.owner()).toBe('z');
    await expect(ours.release('b')).rejects.toThrow(/^WRONGTYPE/);
  });
});
