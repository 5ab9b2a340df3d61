import { describe, expect, test } from 'vitest';
import { addressKey, readAddress } from '../../src/clients/cluster/address.ts';
import { nodesOf, readSlotRanges } from '../../src/clients/cluster/slot-ranges.ts';
import { LockConfigError } from '../../src/errors.ts';
import { checkSlots, fenceKey, lineKey, lockChannel, mutexChannel } from '../../src/keys/name.ts';
import { slotOf, slotTag } from '../../src/keys/slot.ts';
import { redirectionOf } from '../../src/topologies/cluster/redirection.ts';

const SPEAKER = { host: '10.0.0.9', port: 7009 };

describe('the slot of a key', () => {
  test('is the checksum of the specification', () => {
    // The specification gives 0x31C3 for this text; the others were asked of a server.
    expect(slotOf('123456789')).toBe(0x31c3 % 16_384);
    expect(slotOf('foo')).toBe(12_182);
    expect(slotOf('')).toBe(0);
    expect(slotOf('naïve')).toBe(slotOf('{naïve}:any'));
  });

  test.each([
    ['a', 'a'],
    ['x{t}y', 't'],
    ['a{x}b{y}', 'x'],
    ['a{b}c}', 'b'],
    ['}a{b}', 'b'],
    ['a{b', 'a{b'],
    ['a}b', 'a}b'],
    ['{}x', '{}x'],
    ['a{}b{c}', 'a{}b{c}'],
    ['{{a}}', '{a'],
  ])('%s is decided by %s', (key, tag) => {
    expect(slotTag(key)).toBe(tag);
  });
});

describe('the keys of a name', () => {
  test.each(['a', 'a:b', 'x{t}y', '{t}', 'a{x}b{y}', 'a{b}c}', '}a{b}'])('%s share a slot', (name) => {
    expect(() => checkSlots(name, name)).not.toThrow();
    for (const derived of [fenceKey(name), lockChannel(name), mutexChannel(name), lineKey(name)]) {
      expect(slotOf(derived)).toBe(slotOf(name));
    }
  });

  test.each(['a{b', 'a}b', '{}x', 'a{}b{c}', '{', '}'])('%s would not, and it is refused', (name) => {
    expect(() => checkSlots(name, name)).toThrow(LockConfigError);
    expect(() => checkSlots(name, name)).toThrow(`got ${JSON.stringify(name)}`);
  });

  test('with a prefix are judged with it, and told with it', () => {
    expect(() => checkSlots('a', '{locks}:a')).not.toThrow();
    expect(() => checkSlots('a', 'x}a')).toThrow('got "a", as the key "x}a"');
  });
});

describe('an address', () => {
  test.each([
    ['127.0.0.1:7000', '127.0.0.1', 7000],
    ['::1:7000', '::1', 7000],
    ['redis.example:6379', 'redis.example', 6379],
    [':7001', '10.0.0.9', 7001],
  ])('%s is read', (text, host, port) => {
    expect(readAddress(text, SPEAKER)).toEqual({ host, port });
  });

  test.each(['', 'here', 'here:', 'here:x', '?:7000', 'here:0'])('"%s" is none', (text) => {
    expect(readAddress(text, SPEAKER)).toBeNull();
  });
});

describe('a refusal', () => {
  const reply = (text: string): ReturnType<typeof redirectionOf> =>
    redirectionOf({ kind: 'reply', text }, SPEAKER);

  test('of a node says where to go', () => {
    const to = { host: '10.0.0.1', port: 7001 };
    expect(reply('MOVED 3999 10.0.0.1:7001')).toEqual({ is: 'moved', slot: 3999, to });
    expect(reply('ASK 3999 10.0.0.1:7001')).toEqual({ is: 'ask', to });
    expect(reply('MOVED 3999 :7001')).toMatchObject({ to: { host: '10.0.0.9', port: 7001 } });
    expect(reply('TRYAGAIN Multiple keys request during rehashing of slot')).toEqual({ is: 'again' });
    expect(redirectionOf({ kind: 'unreachable', text: 'refused' }, SPEAKER)).toEqual({ is: 'elsewhere' });
  });

  test.each(['CLUSTERDOWN The cluster is down', 'CROSSSLOT Keys', 'MOVED 1 ?:0', 'MOVED', 'NOPERM x'])(
    'such as "%s" leads nowhere',
    (text) => {
      expect(reply(text)).toBeNull();
    },
  );

  test.each(['unknown', 'closed', 'late', 'guard'] as const)(
    'of kind %s leads nowhere, whatever it says',
    (kind) => {
      expect(redirectionOf({ kind, text: 'MOVED 3999 10.0.0.1:7001' }, SPEAKER)).toBeNull();
    },
  );
});

describe('the reply to CLUSTER SLOTS', () => {
  test('is read with primaries and replicas', () => {
    const told = [
      [0, 99, ['10.0.0.1', 7001, 'id', []], ['10.0.0.2', 7002, 'id', []]],
      [100, 199, ['', 7003, 'id'], ['?', 7004, 'id']],
      [200, 299, [null, 7003, 'id', { hostname: 'x' }]],
      [300, 399, ['?', 7005, 'id']],
    ];
    const ranges = readSlotRanges(told, SPEAKER);
    expect(ranges?.map(({ first, last, primary }) => [first, last, addressKey(primary)])).toEqual([
      [0, 99, '10.0.0.1:7001'],
      [100, 199, '10.0.0.9:7003'],
      [200, 299, '10.0.0.9:7003'],
    ]);
    expect(nodesOf(ranges ?? []).map(addressKey)).toEqual([
      '10.0.0.1:7001',
      '10.0.0.2:7002',
      '10.0.0.9:7003',
    ]);
  });

  test.each<[string, unknown]>([
    ['a word', 'OK'],
    ['nothing', null],
    ['a list of words', ['a', 'b']],
    ['slots that are none', [[0, 16_384, ['h', 1, 'id']]]],
    ['slots in words', [['0', '1', ['h', 1, 'id']]]],
  ])('that is %s is none', (_, told) => {
    expect(readSlotRanges(told, SPEAKER)).toBeNull();
  });
});
