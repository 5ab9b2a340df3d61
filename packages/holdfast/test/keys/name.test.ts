import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LockConfigError } from '../../src/errors.ts';
import {
  checkName,
  fenceKey,
  lineKey,
  lockChannel,
  mutexChannel,
  NAME_BYTES_MAX,
} from '../../src/keys/name.ts';
import { SEED } from '../locking/support/seed.ts';

/** Redisson's rule, byte for byte: the only question is whether the name contains an opening brace. */
const TAGGED: readonly (readonly [name: string, tagged: string])[] = [
  ['a', '{a}'],
  ['a:b', '{a:b}'],
  ['a}b', '{a}b}'],
  ['}', '{}}'],
  ['x{t}y', 'x{t}y'],
  ['{t}', '{t}'],
  ['a{b', 'a{b'],
  ['{}x', '{}x'],
  ['a{}b{c}', 'a{}b{c}'],
  ['}a{b}', '}a{b}'],
  ['grün ✓ 𝄞', '{grün ✓ 𝄞}'],
  ['a b\r\n\u0000c', '{a b\r\n\u0000c}'],
];

/** Any character of Unicode: all code points but the halves of surrogate pairs. */
const character = fc
  .integer({ min: 0, max: 0x10_ffff - 0x800 })
  .map((point) => String.fromCodePoint(point < 0xd800 ? point : point + 0x800));

test('two keys never share a line, whatever braces they bring', () => {
  expect([lineKey('a'), lineKey('{a}')]).toEqual(['holdfast_line:{a}', 'holdfast_line::{a}']);
  const text = fc.string({ unit: fc.constantFrom('a', '{', '}', ':'), minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(text, text, (one, other) => {
      expect(lineKey(one) === lineKey(other)).toBe(one === other);
    }),
    { seed: SEED, numRuns: 2_000 },
  );
});

describe('a name', () => {
  test.each(TAGGED)('%j becomes %j in channels and counters, as with Redisson', (name, tagged) => {
    const bytes = (text: string): Buffer => Buffer.from(text, 'utf8');
    expect(bytes(lockChannel(name))).toEqual(bytes(`redisson_lock__channel:${tagged}`));
    expect(bytes(fenceKey(name))).toEqual(bytes(`redisson_lock_token:${tagged}`));
    expect(bytes(mutexChannel(name))).toEqual(bytes(`holdfast_mutex__channel:${tagged}`));
  });

  test('keeps its bytes, and two different names stay different', () => {
    fc.assert(
      fc.property(fc.string({ unit: character, minLength: 1, maxLength: 40 }), (name) => {
        expect(checkName(name)).toBe(name);
        expect(Buffer.from(checkName(name), 'utf8').toString('utf8')).toBe(name);
      }),
      { seed: SEED },
    );
  });

  test('may have 1024 bytes of UTF-8 and not one more', () => {
    expect(NAME_BYTES_MAX).toBe(1024);
    for (const [unit, bytes] of [
      ['a', 1],
      ['ü', 2],
      ['✓', 3],
      ['𝄞', 4],
    ] as const) {
      const longest = unit.repeat(Math.floor(NAME_BYTES_MAX / bytes));
      expect(checkName(longest)).toBe(longest);
      expect(() => checkName(`${longest}${unit}`)).toThrow(LockConfigError);
    }
    expect(() => checkName('x'.repeat(1025))).toThrow('of at most 1024 bytes, got 1025 bytes beginning "xxx');
  });

  test.each(['\ud800', 'a\udc00', 'a\ud834b', '\udd1e\ud834'])(
    'with half a surrogate is refused: %j',
    (name) => {
      expect(() => checkName(name)).toThrow(/UTF-8 can carry, got .* with half a surrogate/);
    },
  );

  test.each([
    ['', '""'],
    [undefined, 'undefined'],
    [null, 'null'],
    [7, '7'],
    [{}, 'an object of Object'],
    [['a'], 'an array of 1'],
    [() => 'a', 'a function'],
    [7n, 'the bigint 7'],
  ])('that is %s is refused', (name, got) => {
    expect(() => checkName(name)).toThrow(`expected a lock name to be a non-empty string, got ${got}`);
  });
});
