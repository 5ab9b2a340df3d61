/** What a test sees of several servers: never what one of them alone says. */
import type { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { quorumObserver } from '../contract/quorum-observer.ts';

type Answer = (...args: unknown[]) => unknown;

/** Three servers that give these answers, in their order. */
function observer(member: string, answers: readonly [unknown, unknown, unknown]): Record<string, Answer> {
  const servers = answers.map((answer) => ({ [member]: () => Promise.resolve(answer) }));
  return quorumObserver(servers as unknown as [Redis, Redis, Redis]) as unknown as Record<string, Answer>;
}

test.each([0, 1, 2])('what two servers say counts, whichever is the third: server %i', async (behind) => {
  const answers = ['new', 'new', 'new'].map((answer, i) => (i === behind ? 'old' : answer));
  const asked = observer('get', answers as [string, string, string]);
  expect(await asked['get']?.('key')).toBe('new');
});

test('names agree in whatever order a server has them, and the items of a list do not', async () => {
  const orders = [[], ['b', 'a'], ['a', 'b']] as const;
  expect(await observer('keys', orders)['keys']?.('*')).toEqual(['a', 'b']);
  expect(await observer('pubsub', orders)['pubsub']?.('CHANNELS')).toEqual(['a', 'b']);
  const lists = [
    ['b', 'a'],
    ['a', 'b'],
    ['a', 'b'],
  ] as const;
  expect(await observer('lrange', lists)['lrange']?.('key', 0, -1)).toEqual(['a', 'b']);
});

test('of times left it is the middle one', async () => {
  expect(await observer('pttl', [-2, 4_990, 4_980])['pttl']?.('key')).toBe(4_980);
});

test('what each server says of itself is told of all', async () => {
  const asked = observer('client', ['id=1 name=a', 'id=1 name=b', 'id=2 name=holdfast']);
  expect(await asked['client']?.('LIST')).toContain('name=holdfast');
});
