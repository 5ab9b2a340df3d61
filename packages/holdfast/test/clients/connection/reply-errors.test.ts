import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { ignoreRefusal, reasonOf, replyWord } from '../../../src/clients/connection/reply-errors.ts';
import { glideReply } from '../../../src/clients/glide/reply.ts';

const withCode = (message: string, code: string): Error => Object.assign(new Error(message), { code });

describe('what an error says', () => {
  test('is told of errors that hold each other', () => {
    const [one, other] = [new AggregateError([]), new AggregateError([])];
    one.errors.push(other);
    other.errors.push(one);
    expect(reasonOf(one)).toBe('AggregateError');
  });

  test.each([
    ['an object without a prototype', Object.create(null)],
    [
      'an object that cannot be made a string',
      {
        toString() {
          throw new Error('no words');
        },
      },
    ],
  ])('is never an exception of its own: %s', (_, thrown) => {
    expect(reasonOf(thrown)).toBe('an error that cannot be read');
  });
});

describe('the word of an error reply', () => {
  test.each([
    ['NOSCRIPT No matching script. Please use EVAL.', 'NOSCRIPT'],
    ['NOSCRIPT', 'NOSCRIPT'],
    ['ERR unknown command', 'ERR'],
    ['WRONGTYPE Operation against a key', 'WRONGTYPE'],
    ["NOPERM this user has no permissions to run the 'eval' command", 'NOPERM'],
    ['MISCONF Redis is configured to save RDB snapshots', 'MISCONF'],
  ])('is the first of %j', (message, word) => {
    expect(replyWord(new Error(message))).toBe(word);
  });

  test.each([
    new Error('Connection is closed.'),
    new Error("Stream isn't writeable and enableOfflineQueue options is false"),
    new Error('Socket closed unexpectedly'),
    new Error('Disconnects client'),
    new Error('The client is closed'),
    new Error('Command timed out'),
    new Error(''),
    withCode('connect ECONNREFUSED 127.0.0.1:6379', 'ECONNREFUSED'),
    withCode('EPROTO wrong version number', 'EPROTO'),
    new TypeError('Invalid argument type'),
    'NOSCRIPT as a string',
    undefined,
  ])('is not found in what a client says itself: %s', (error) => {
    expect(replyWord(error)).toBeNull();
  });
});

describe('the reason of an error', () => {
  test('is its message, or what is inside when it has none', () => {
    expect(reasonOf(new Error('read ECONNRESET'))).toBe('read ECONNRESET');
    const both = [new Error('connect ECONNREFUSED ::1:1'), new Error('connect ECONNREFUSED 127.0.0.1:1')];
    expect(reasonOf(new AggregateError(both))).toBe(
      'connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1',
    );
    expect(reasonOf(new TypeError(''))).toBe('TypeError');
    expect(reasonOf('gone')).toBe('gone');
  });

  /** As Jest has it: our code runs in one context, and the errors of Node come from another. */
  test('is found in an error of another context too', () => {
    const made = (code: string): unknown => runInNewContext(code);
    expect(reasonOf(made("new Error('read ECONNRESET')"))).toBe('read ECONNRESET');
    const refused = "new AggregateError([new Error('connect ECONNREFUSED ::1:1')])";
    expect(reasonOf(made(refused))).toBe('connect ECONNREFUSED ::1:1');
    expect(replyWord(made("new Error('LOADING Redis is loading')"))).toBe('LOADING');
    expect(glideReply(made("new Error('OOM: command not allowed')"))).toHaveProperty(
      'message',
      'OOM command not allowed',
    );
  });
});

describe('a courtesy', () => {
  test('may be refused, but does not hide trouble with the connection', () => {
    expect(() =>
      ignoreRefusal(new Error("NOPERM this user has no permissions to run 'client|setname'")),
    ).not.toThrow();
    expect(() => ignoreRefusal(new Error('ERR unknown command'))).not.toThrow();
    expect(() => ignoreRefusal(new Error('NOAUTH Authentication required.'))).toThrow('NOAUTH');
    expect(() => ignoreRefusal(new Error('Connection is closed.'))).toThrow('closed');
  });
});
