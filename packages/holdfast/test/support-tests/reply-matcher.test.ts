import { describe, expect, test } from 'vitest';
import { ReplyMatcher } from '../support/proxies/reply-matcher.ts';
import { RespError, RespReader } from '../support/servers/resp.ts';

/** Sends the requests, hears the bytes, and says for each message which request it answers, `~` if in part. */
function pair(requests: string[], bytes: string): string[] {
  const matcher = new ReplyMatcher<string>();
  for (const request of requests) matcher.asked(request.split(' '), request);
  return new RespReader().push(Buffer.from(bytes.replaceAll(' ', '\r\n'))).map((frame) => {
    const answer = matcher.heard(frame);
    return answer === undefined ? 'unasked' : `${answer.isWhole ? '' : '~'}${answer.tag}`;
  });
}

const confirm = (mark: string, verb: string, channel: string) =>
  `${mark}3 $${verb.length} ${verb} $${channel.length} ${channel} :1 `;

describe('a conversation', () => {
  test('pairs replies with requests in order', () => {
    expect(pair(['GET a', 'HGETALL b', 'EVALSHA x 0'], '$1 v *2 $1 f $1 v -ERR ')).toEqual([
      'GET a',
      'HGETALL b',
      'EVALSHA x 0',
    ]);
  });

  test.each([
    ['RESP2', '*'],
    ['RESP3', '>'],
  ])('waits for one confirmation a channel in %s', (_, mark) => {
    const bytes = `${confirm(mark, 'subscribe', 'a')}${confirm(mark, 'subscribe', 'b')}+PONG `;
    expect(pair(['SUBSCRIBE a b', 'PING'], bytes)).toEqual(['~SUBSCRIBE a b', 'SUBSCRIBE a b', 'PING']);
  });

  test('does not take a push message for a reply', () => {
    const bytes = `>2 $10 invalidate *1 $1 k +OK >3 $7 message $1 c $2 hi $1 v `;
    expect(pair(['SET a b', 'GET a'], bytes)).toEqual(['unasked', 'SET a b', 'unasked', 'GET a']);
  });

  test('does not take a RESP2 message for a reply once subscribed', () => {
    const bytes = `${confirm('*', 'subscribe', 'a')}*3 $7 message $1 a $2 hi *2 $4 pong $0  `;
    expect(pair(['SUBSCRIBE a', 'PING'], bytes)).toEqual(['SUBSCRIBE a', 'unasked', 'PING']);
  });

  test('takes a list that begins with "message" for a reply when nothing is subscribed', () => {
    expect(pair(['LRANGE l 0 -1'], '*1 $7 message ')).toEqual(['LRANGE l 0 -1']);
  });

  test('does not take a message for the confirmation it waits for', () => {
    const bytes = `${confirm('*', 'subscribe', 'a')}*3 $7 message $1 a $2 hi ${confirm('*', 'subscribe', 'b')}`;
    expect(pair(['SUBSCRIBE a', 'SUBSCRIBE b'], bytes)).toEqual(['SUBSCRIBE a', 'unasked', 'SUBSCRIBE b']);
  });

  test('waits until nothing is left for an unsubscribe of everything', () => {
    const bytes = [
      confirm('>', 'subscribe', 'a'),
      confirm('>', 'subscribe', 'b'),
      confirm('>', 'unsubscribe', 'a'),
      confirm('>', 'unsubscribe', 'b'),
      '>3 $11 unsubscribe _ :0 ',
      '+PONG ',
    ];
    expect(pair(['SUBSCRIBE a b', 'UNSUBSCRIBE', 'UNSUBSCRIBE', 'PING'], bytes.join(''))).toEqual([
      '~SUBSCRIBE a b',
      'SUBSCRIBE a b',
      '~UNSUBSCRIBE',
      'UNSUBSCRIBE',
      'UNSUBSCRIBE',
      'PING',
    ]);
  });

  test('takes one error for the whole answer to a subscription', () => {
    expect(pair(['SUBSCRIBE a b', 'PING'], '-NOPERM +PONG ')).toEqual(['SUBSCRIBE a b', 'PING']);
  });
});

describe('a reader of the protocol', () => {
  const MESSAGES =
    '+OK -ERR :-7 $3 abc $-1 *2 :1 *-1 %1 +k #t ~1 #f ,1.5 ,inf _ (123 =7 txt:abc !3 BAD |1 +ttl :9 +v >1 +p *0 ';
  const VALUES = [
    'OK',
    new RespError('ERR'),
    -7,
    'abc',
    null,
    [1, null],
    ['k', true],
    [false],
    1.5,
    Number.POSITIVE_INFINITY,
    null,
    '123',
    'abc',
    new RespError('BAD'),
    'v',
    ['p'],
    [],
  ];
  const bytes = Buffer.from(MESSAGES.replaceAll(' ', '\r\n'));

  test('knows every type', () => {
    expect(new RespReader().push(bytes).map((frame) => frame.value)).toEqual(VALUES);
  });

  test('finds the same messages when every byte comes alone', () => {
    const reader = new RespReader();
    const frames = [...bytes].flatMap((byte) => reader.push(Buffer.from([byte])));
    expect(frames.map((frame) => frame.value)).toEqual(VALUES);
    expect(Buffer.concat(frames.map((frame) => frame.bytes))).toEqual(bytes);
  });

  test('refuses what is not the protocol', () => {
    expect(() => new RespReader().push(Buffer.from('GET k\r\n'))).toThrow('not a RESP message');
  });
});
