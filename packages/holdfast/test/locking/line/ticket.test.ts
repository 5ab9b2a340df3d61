/** What a grant by message is worth: safety rule 1 for the claim in place of the lease. */
import { describe, expect, test } from 'vitest';
import { type GrantMessage, readMessage, Ticket, waitOf } from '../../../src/locking/waiting/ticket.ts';
import { instantNow } from '../../../src/runtime/instant.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const CLAIM_MS = 1_000;
const DRIFT_MS = 12;

function setup() {
  const clock = new FakeClock();
  const ticket = new Ticket(7, 'secret');
  const ask = (): string => ticket.ask(instantNow(clock), CLAIM_MS);
  const claimOf = (echo: string) => {
    const claim = ticket.claimOf(readMessage(`g ${echo} 100 3`) as GrantMessage, instantNow(clock));
    if (claim === null) return null;
    const { deadline, isYoung } = claim;
    return { leftMs: deadline.monotonicMs - clock.monotonicMs(), isYoung };
  };
  return { clock, ask, claimOf };
}

describe('a claim', () => {
  test('is counted from just before the ask that the grant echoes, whatever was asked since', () => {
    const { clock, ask, claimOf } = setup();
    const first = ask();
    clock.advanceSync(300);
    const second = ask();
    clock.advanceSync(100);
    expect(claimOf(first)).toEqual({ leftMs: CLAIM_MS - DRIFT_MS - 400, isYoung: true });
    expect(claimOf(second)).toEqual({ leftMs: CLAIM_MS - DRIFT_MS - 100, isYoung: true });
  });

  test('is never counted from when its message arrives', () => {
    const { clock, ask, claimOf } = setup();
    const echo = ask();
    clock.advanceSync(5_000);
    expect(claimOf(echo)).toEqual({ leftMs: CLAIM_MS - DRIFT_MS - 5_000, isYoung: false });
  });

  test('is young while half of it is left', () => {
    const { clock, ask, claimOf } = setup();
    const echo = ask();
    clock.advanceSync(CLAIM_MS / 2 - DRIFT_MS);
    expect(claimOf(echo)?.isYoung).toBe(true);
    clock.advanceSync(1);
    expect(claimOf(echo)?.isYoung).toBe(false);
  });

  test('is not young after a sleep of the machine, in which the monotonic clock stood still', () => {
    const { clock, ask, claimOf } = setup();
    const echo = ask();
    clock.suspend(CLAIM_MS);
    expect(claimOf(echo)?.isYoung).toBe(false);
  });

  test('is known for the last eight asks, and for no older one', () => {
    const { ask, claimOf } = setup();
    const echoes = Array.from({ length: 9 }, ask);
    expect(echoes.map((echo) => claimOf(echo) !== null)).toEqual([false, ...Array(8).fill(true)]);
  });

  test('has an echo of its own for each ask, which names its wait', () => {
    const { ask } = setup();
    const echoes = [ask(), ask(), ask()];
    expect(new Set(echoes).size).toBe(3);
    expect(echoes.map(waitOf)).toEqual([7, 7, 7]);
  });

  test.each([
    ['without the secret', '7.1.'],
    ['with another secret', '7.1.secreT'],
    ['of an ask that was never sent', '7.2.secret'],
    ['of another wait', '8.1.secret'],
    ['with more behind it', '7.1.secret.'],
  ])('is nothing for an echo %s', (_, echo) => {
    const { ask, claimOf } = setup();
    expect(ask()).toBe('7.1.secret');
    expect(claimOf(echo)).toBe(null);
  });
});

describe('a message of the line', () => {
  test.each([
    ['g 7.1.s 100 3', { is: 'grant', echo: '7.1.s', firstFence: 100, fences: 3 }],
    ['a 7.1.s 0', { is: 'ask', echo: '7.1.s', inMs: 0 }],
    ['a 7.1.s 80', { is: 'ask', echo: '7.1.s', inMs: 80 }],
    ['w 7.1.s', { is: 'wanted', echo: '7.1.s' }],
    ['x s:1 revoked', { is: 'revoked', holder: 's:1', words: '' }],
    ['x s:1 revoked two\nlines', { is: 'revoked', holder: 's:1', words: 'two\nlines' }],
  ])('is read: %s', (text, message) => {
    expect(readMessage(text)).toEqual(message);
  });

  test.each([
    '',
    '0',
    'g',
    'g 7.1.s',
    'g 7.1.s 100',
    'g 7.1.s -1 3',
    'g 7.1.s 1e3 3',
    'g 7.1.s 12345678901234567 3',
    'g 7.1.s 100 3 4',
    'g 7.1.s 100 3\n',
    ' g 7.1.s 100 3',
    'a 7.1.s',
    'a 7.1.s soon',
    'w',
  ])('is nothing else: %j', (text) => {
    expect(readMessage(text)).toBe(null);
  });
});
