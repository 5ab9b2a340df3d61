/** What errors say: nothing from outside unescaped, no time finer than a millisecond. */
import { describe, expect, test } from 'vitest';
import { LockError, LockTimeoutError, type ServerFailure } from '../../src/errors.ts';
import { acquireError, describeServers, quoted, releaseError } from '../../src/locking/failures.ts';
import { describeReply, describe as describeValue } from '../../src/runtime/describe.ts';
import { inMs } from '../../src/runtime/printable.ts';
import { rejection } from '../support/rejection.ts';
import { fails, says } from './support/scripted-client.ts';
import { Stage } from './support/stage.ts';

/** A line of its own in a log, a cleared screen, a name that reads backwards. */
const HOSTILE = 'x\r\n2026-01-01 all is well\u001b[2J\u009b31m\u202e\u2028\u0000';

/** What no message may contain. */
const UNPRINTABLE = /\p{Cc}|\p{Cf}|\p{Cs}|\p{Zl}|\p{Zp}/u;

const SERVERS: readonly ServerFailure[] = [{ server: HOSTILE, kind: 'reply', text: HOSTILE }];

const protocolOf = (name: string) => new Stage().process().lockProtocol(name);

describe('a message', () => {
  test('escapes who holds the lock, while the error keeps it as it is', () => {
    const held = { is: 'held', ttlMs: 5.5, owner: HOSTILE, isSplit: false } as const;
    const error = acquireError(protocolOf('a'), held, 1) as LockTimeoutError;
    expect(error.message).not.toMatch(UNPRINTABLE);
    expect(error.message).toContain('x\\u{d}\\u{a}2026');
    expect(error.holder?.owner).toBe(HOSTILE);
  });

  test('escapes the name of a lock, while the error keeps it as it is', () => {
    const error = acquireError(protocolOf(`a"${HOSTILE}`), null, 1);
    expect(error.message).not.toMatch(UNPRINTABLE);
    expect(error.message).toMatch(/^lock "a\\"x\\u\{d\}/);
    expect(error.lock).toBe(`a"${HOSTILE}`);
    expect(quoted(protocolOf('a'))).toBe('lock "a"');
  });

  test.each([false, true])('escapes what servers say when it may be granted: %s', (mayBeGranted) => {
    const servers = [...SERVERS, { server: HOSTILE, kind: 'unknown', text: HOSTILE } as const];
    const result = { is: 'failed', servers, canRetry: false, mayBeGranted } as const;
    expect(acquireError(protocolOf('a'), result, 1).message).not.toMatch(UNPRINTABLE);
    expect(releaseError(protocolOf('a'), SERVERS).message).not.toMatch(UNPRINTABLE);
    expect(describeServers(SERVERS)).not.toMatch(UNPRINTABLE);
  });

  test('does not show where in a script of ours an error arose', () => {
    const said = 'NOPERM The user executing the script cannot run this command';
    const text = `${said} script: ${'8dd24178'.repeat(5)}, on @user_script:46.`;
    expect(describeServers([{ server: 's', kind: 'reply', text }])).toBe(`s: reply, ${said}`);
  });

  test('escapes what stands in the way', () => {
    const error = acquireError(protocolOf('a'), { is: 'conflict', found: HOSTILE }, 1);
    expect(error.message).not.toMatch(UNPRINTABLE);
  });

  test('escapes a value that was not expected, and shows only its beginning', () => {
    expect(describeValue(HOSTILE)).not.toMatch(UNPRINTABLE);
    expect(describeValue('x'.repeat(1_000)).length).toBeLessThan(70);
    const named = Object.create({ constructor: { name: HOSTILE } });
    expect(describeValue(named)).not.toMatch(UNPRINTABLE);
  });

  test('escapes a reply that makes no sense, also one that JSON cannot carry, and shows only its beginning', () => {
    expect(describeReply([HOSTILE, 5n])).not.toMatch(UNPRINTABLE);
    expect(describeReply([5n])).toBe('["5n"]');
    const circular: unknown[] = [];
    circular.push(circular);
    expect(describeReply(circular)).toContain('Circular');
    expect(describeReply(undefined)).toBe('undefined');
    expect(describeReply('x'.repeat(1_000_000)).length).toBeLessThan(2_000);
  });

  test('escapes also what its writer forgot', () => {
    expect(new LockError('ELOCKCONFIG', HOSTILE).message).not.toMatch(UNPRINTABLE);
    expect(new LockTimeoutError(HOSTILE).stack?.split('\n')[0]).toContain('all is well\\u{1b}[2J');
  });

  test('escapes an error reply on its whole way to the caller', async () => {
    const process = new Stage().process();
    process.client.from('any', fails(`ERR ${HOSTILE}`));
    const error = (await rejection(process.lock('a').acquire())) as Error;
    expect(error).toMatchObject({ code: 'ELOCKUNAVAILABLE', servers: [{ text: `ERR ${HOSTILE}` }] });
    expect(error.message).not.toMatch(UNPRINTABLE);
  });

  test('tells of a reply that is a bigint, rather than failing over it', async () => {
    const stage = new Stage();
    const process = stage.process({ callTimeoutMs: 100, outageMs: 1_000 });
    process.client.from('any', says([5n] as never));
    const error = (await stage.until(rejection(process.lock('a').tryAcquire()))) as Error;
    expect(error).toMatchObject({ code: 'ELOCKUNKNOWN' });
    expect(error.message).toContain('a reply we cannot read: ["5n"]');
  });

  test('has times in whole milliseconds, and so has the error', () => {
    expect([inMs(499.95093799999995), inMs(0.2), inMs(1e9), inMs(Number.POSITIVE_INFINITY)]).toEqual([
      '500 ms',
      '0 ms',
      '1000000000 ms',
      'Infinity ms',
    ]);
    expect(acquireError(protocolOf('a'), null, 499.95093799999995)).toMatchObject({
      message: 'lock "a": waited 500 ms behind other callers of this process',
      elapsedMs: 499,
    });
  });

  test('has the time of a holder in whole milliseconds', () => {
    const held = { is: 'held', ttlMs: 12.75, owner: 'x:1', isSplit: false } as const;
    const error = acquireError(protocolOf('a'), held, 49.6);
    expect(error.message).toBe(
      'lock "a": waited 50 ms and did not get it; x:1 holds it for 13 ms more unless renewed',
    );
  });
});
