import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { steady } from '../support/steady.ts';
import { always, Violation } from '../support/violation.ts';

const STEADY = steady();
const { condition } = STEADY.retry;

const LATE = { name: 'AssertionError', message: 'told so late: expected 1234.5 to be less than 1000' };
const LOST = { name: 'LockLostError', message: 'the lock "a" was lost' };

/** Long enough to be one, and noticed. */
async function stall(): Promise<void> {
  const untilMs = performance.now() + 200;
  while (performance.now() < untilMs);
  await sleep(30);
}

/** What it tells of is not of interest here. */
beforeEach(() => {
  const silenced = vi.spyOn(console, 'info').mockImplementation(() => {});
  return () => silenced.mockRestore();
});

describe('a failure', () => {
  test.each([LATE, LOST])('about time beside a stall is tried again: $message', async (error) => {
    await stall();
    expect(condition(error)).toBe(true);
  });

  test.each([
    { name: 'AssertionError', message: 'expected 2 to be 1 // Object.is equality' },
    { name: 'AssertionError', message: 'expected [ 3 ] to deeply equal []' },
    { name: 'AssertionError', message: 'expected 7 to be less than or equal to 6' },
    { name: 'Error', message: 'waited 5000 ms for the lock to be free, and it was still false' },
  ])('about anything else is not: $message', async (error) => {
    await stall();
    expect(condition(error)).toBe(false);
  });

  let tries = 0;
  test('is tried again with all that goes before a test', STEADY, async () => {
    tries += 1;
    if (tries > 1) return;
    await stall();
    expect(performance.now()).toBeLessThan(0);
  });
});

describe('a failure that is not about time', () => {
  let tries = 0;
  test.fails('counts the first time', STEADY, async () => {
    tries += 1;
    await stall();
    expect('two owners').toBe('one owner');
  });

  test('was not tried again', () => {
    expect(tries).toBe(1);
  });
});

/** As the rules of exclusion, fences and the word in time are told. */
const VIOLATIONS = [
  { rule: 'exclusion', violate: () => raise(new Violation('two owners at once')) },
  { rule: 'a fence', violate: () => always(() => expect(7).toBeGreaterThan(8)) },
  // The words of what is tried again, in an error that never is.
  { rule: 'the word in time', violate: () => always(() => expect(1_234.5).toBeLessThan(1_000)) },
  {
    rule: 'what a body threw whose lease was lost too',
    violate: () => raise(lostBehind(new Violation('two'))),
  },
];

function raise(error: Error): never {
  throw error;
}

function lostBehind(cause: Error): Error {
  return Object.assign(new Error('the lock "a" was lost', { cause }), { name: 'LockLostError' });
}

describe.each(VIOLATIONS)('beside a stall, a violation of $rule', ({ violate }) => {
  let tries = 0;
  test.fails('counts the first time', STEADY, async () => {
    tries += 1;
    await stall();
    violate();
  });

  test('was not tried again', () => {
    expect(tries).toBe(1);
  });
});

describe('a violation', () => {
  let tries = 0;
  test.fails(
    'counts although the clean-up behind it fails for want of time',
    STEADY,
    async ({ onTestFinished }) => {
      tries += 1;
      // The runner looks at the last failure, and that one alone would be tried again.
      onTestFinished(() => raise(lostBehind(new Error('too late'))));
      await stall();
      raise(new Violation('two owners at once'));
    },
  );

  test('was not tried again', () => {
    expect(tries).toBe(1);
  });
});
