import { describe, expect, test } from 'vitest';
import { LockConfigError } from '../../src/errors.ts';
import { type AcquireOptions, resolveAcquireOptions } from '../../src/options/acquire-options.ts';
import {
  checkLeaseMs,
  LEASE_MS_MAX,
  type LocksOptions,
  resolveLocksOptions,
} from '../../src/options/options.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { Stage } from '../locking/support/stage.ts';

const TIMER_MS_MAX = 2 ** 31 - 1;
const DEFAULTS = resolveLocksOptions({});

/** Each option with an integer: its smallest and its largest value. */
const INTEGERS: readonly (readonly [keyof LocksOptions, number, number])[] = [
  ['leaseMs', 4, LEASE_MS_MAX],
  ['callTimeoutMs', 1, TIMER_MS_MAX],
  ['handovers', 0, 10_000],
  ['handoverMs', 0, TIMER_MS_MAX],
  ['lingerMs', 0, 10_000],
  ['fenceTtlMs', 0, 100 * LEASE_MS_MAX],
  ['bundleMax', 1, 128],
  ['outageMs', 0, TIMER_MS_MAX],
];

/** Values a caller without types may hand in, and how the message names them. */
const NOT_INTEGERS: readonly (readonly [unknown, string])[] = [
  ['100', '"100"'],
  [1.5, '1.5'],
  [Number.NaN, 'NaN'],
  [Number.POSITIVE_INFINITY, 'Infinity'],
  [true, 'true'],
  [{}, 'an object of Object'],
  [10n, 'the bigint 10'],
];

function locks(options: object): () => unknown {
  return () => resolveLocksOptions(options);
}

function acquire(options: object, isTry = false): () => unknown {
  return () => resolveAcquireOptions(options as AcquireOptions, DEFAULTS, isTry);
}

describe('the options of Locks', () => {
  test('have these defaults', () => {
    expect(DEFAULTS).toEqual({
      prefix: '',
      leaseMs: 30_000,
      callTimeoutMs: 2_000,
      handovers: 64,
      handoverMs: 50,
      claimMs: 1_000,
      lingerMs: 0,
      fenceTtlMs: 3_600_000,
      bundleMax: 128,
      outageMs: 10_000,
      application: null,
      nodeTimeoutMs: null,
      restartGuardMs: null,
      splitVotesMax: 100,
      replicas: null,
      pubsub: 'auto',
      clock: systemClock,
      random: systemRandom,
    });
  });

  test.each(INTEGERS)('take %s from %d to %d and nothing else', (name, min, max) => {
    expect(resolveLocksOptions({ [name]: min })[name]).toBe(min);
    expect(resolveLocksOptions({ [name]: max })[name]).toBe(max);
    const form = `expected ${name} to be an integer from ${min} to ${max}, got`;
    for (const wrong of [min - 1, max + 1]) expect(locks({ [name]: wrong })).toThrow(`${form} ${wrong}`);
    for (const [wrong, named] of NOT_INTEGERS) {
      expect(locks({ [name]: wrong })).toThrow(LockConfigError);
      expect(locks({ [name]: wrong })).toThrow(`${form} ${named}`);
    }
  });

  test('take replicas with how many, how long and whether on disk', () => {
    const resolved = (replicas: object): unknown =>
      resolveLocksOptions({ replicas } as LocksOptions).replicas;
    expect(resolved({ min: 0 })).toBeNull();
    expect(resolved({ min: 2 })).toEqual({ min: 2, timeoutMs: 1_000, aof: false });
    expect(resolved({ min: 0, aof: true })).toEqual({ min: 0, timeoutMs: 1_000, aof: true });
    expect(resolved({ min: 1, timeoutMs: 1_999 })).toEqual({ min: 1, timeoutMs: 1_999, aof: false });
    expect(resolveLocksOptions({ callTimeoutMs: 500, replicas: { min: 1 } }).replicas?.timeoutMs).toBe(250);
    expect(resolveLocksOptions({ callTimeoutMs: 60_000, replicas: { min: 1 } }).replicas?.timeoutMs).toBe(
      4_000,
    );
  });

  test.each([
    [{ replicas: 1 }, 'expected replicas to be an object, got 1'],
    [{ replicas: {} }, 'expected replicas.min to be an integer from 0 to 1000, got undefined'],
    [{ replicas: { min: -1 } }, 'expected replicas.min to be an integer from 0 to 1000, got -1'],
    [
      { callTimeoutMs: 60_000, replicas: { min: 1, timeoutMs: 4_001 } },
      'expected replicas.timeoutMs (less than callTimeoutMs) to be an integer from 1 to 4000, got 4001',
    ],
    [{ replicas: { min: 1, aof: 1 } }, 'expected replicas.aof to be a boolean, got 1'],
    [{ replicas: { min: 1, max: 2 } }, 'expected an option of replicas among min, timeoutMs, aof, got "max"'],
    [
      { replicas: { min: 1, timeoutMs: 2_000 } },
      'expected replicas.timeoutMs (less than callTimeoutMs) to be an integer from 1 to 1999, got 2000',
    ],
    [
      { callTimeoutMs: 1, replicas: { min: 1 } },
      'expected callTimeoutMs to be at least 2 with replicas, got 1',
    ],
  ])('refuse %j', (options, message) => {
    expect(locks(options)).toThrow(LockConfigError);
    expect(locks(options)).toThrow(message);
  });

  test.each([
    [{ prefix: 7 }, 'expected prefix to be a string, got 7'],
    [{ pubsub: 'shard' }, "expected pubsub to be one of 'auto', 'plain', 'sharded', 'both', got \"shard\""],
    [{ pubsub: true }, /^expected pubsub to be one of .*, got true$/],
    [
      { shareConnection: true },
      /^expected an option of Locks among prefix, leaseMs, .* got "shareConnection"$/,
    ],
    [{ lease: 5 }, /^expected an option of Locks among prefix, leaseMs, .* got "lease"$/],
    [{ leasems: 5 }, /got "leasems"$/],
    [[], 'expected the options of Locks to be an object, got an array of 0'],
  ])('refuse %j', (options, message) => {
    expect(locks(options)).toThrow(message);
  });

  test.each([null, 'fast', 7])('that are %j instead of an object are refused', (options) => {
    expect(() => resolveLocksOptions(options as never)).toThrow('the options of Locks to be an object');
  });
});

describe('the options of an acquisition', () => {
  test('have these defaults', () => {
    expect(resolveAcquireOptions({}, DEFAULTS, false)).toEqual({
      waitMs: Number.POSITIVE_INFINITY,
      leaseMs: 30_000,
      renew: true,
      lingerMs: 0,
      signal: undefined,
      within: undefined,
      isTry: false,
    });
  });

  test('take the lease of Locks unless they say their own', () => {
    const defaults = resolveLocksOptions({ leaseMs: 700 });
    expect(resolveAcquireOptions({}, defaults, true).leaseMs).toBe(700);
    expect(resolveAcquireOptions({ leaseMs: 5 }, defaults, true).leaseMs).toBe(5);
  });

  test.each([0, 0.5, 10_000, Number.POSITIVE_INFINITY])('take a wait of %d', (waitMs) => {
    expect(resolveAcquireOptions({ waitMs }, DEFAULTS, false).waitMs).toBe(waitMs);
  });

  test.each([
    [{ waitMs: -1 }, 'expected waitMs to be a number of at least 0, got -1'],
    [{ waitMs: Number.NaN }, 'expected waitMs to be a number of at least 0, got NaN'],
    [{ waitMs: '5s' }, 'expected waitMs to be a number of at least 0, got "5s"'],
    [{ leaseMs: 0 }, 'expected leaseMs to be an integer from 4'],
    [{ leaseMs: 3 }, 'expected leaseMs to be an integer from 4 to 31622400000, got 3'],
    [{ leaseMs: null }, 'expected leaseMs to be an integer from 4'],
    [{ renew: 'no' }, 'expected renew to be a boolean, got "no"'],
    [{ signal: {} }, 'expected signal to be an AbortSignal, got an object of Object'],
    [{ timeout: 5 }, /^expected an option of an acquisition among waitMs, .* got "timeout"$/],
  ])('refuse %j', (options, message) => {
    expect(acquire(options)).toThrow(LockConfigError);
    expect(acquire(options)).toThrow(message);
  });

  test('of a try have no wait', () => {
    expect(acquire({ waitMs: 5 }, true)).toThrow('got "waitMs"');
  });

  test('take within a lease of the same lock and nothing else', async () => {
    const process = new Stage().process();
    const [a, b] = [process.lock('a'), process.lock('b')];
    const lease = await a.acquire();
    await expect(b.acquire({ within: lease })).rejects.toThrow(
      'expected within to be a lease of lock "b" from this Locks, got a lease of lock "a"',
    );
    await expect(a.acquire({ within: {} as never })).rejects.toThrow('got an object of Object');
    await lease.release();
    await expect(a.acquire({ within: lease })).rejects.toThrow('the lease given as within has been released');
  });
});

describe('a lease', () => {
  test('is a whole number of milliseconds, from four to a year', () => {
    expect([checkLeaseMs(4), checkLeaseMs(LEASE_MS_MAX)]).toEqual([4, LEASE_MS_MAX]);
    for (const wrong of [
      0,
      1,
      2,
      3,
      -1,
      1.5,
      LEASE_MS_MAX + 1,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      '30s',
      null,
    ]) {
      expect(() => checkLeaseMs(wrong)).toThrow(LockConfigError);
    }
  });
});
