/** A receiver that nothing can be sent to: its configuration is refused, and a sender that meets one all the same fails in order. */
import { describe, expect, test } from 'vitest';
import { formatIssue } from '../src/alerts/config/json-reader.ts';
import { parseConfig } from '../src/alerts/config/parse.ts';
import { Secret } from '../src/alerts/config/secret.ts';
import { send } from '../src/alerts/receivers/send.ts';
import { systemClock } from '../src/alerts/system-clock.ts';
import { commandReceiver, mailReceiver, notice } from './alerts/support/notices.ts';

const receiver = (fields: object): string => JSON.stringify({ receivers: { a: fields } });
const mail = (fields: object): string =>
  receiver({ type: 'smtp', url: 'smtp://m.test', from: 'a@m.test', to: ['b@m.test'], ...fields });
const web = (headers: object): string => receiver({ type: 'webhook', url: 'http://x.test', headers });

const UNUSABLE: readonly (readonly [title: string, text: string, said: RegExp])[] = [
  ['a % alone in a password', mail({ url: 'smtp://u:p%w@m.test' }), /url: expected a % .* written as %25/],
  ['a password without a user', mail({ password: 'pa55' }), /password: expected a user in the URL with it/],
  [
    'an empty routing key',
    receiver({ type: 'pagerduty', routingKey: '' }),
    /expected a text that is not empty/,
  ],
  [
    'a header with a blank in its name',
    web({ 'X Team': 'a' }),
    /expected a name and a value that HTTP allows/,
  ],
  ['a header with a line end', web({ 'X-Team': 'a\nb' }), /expected a name and a value that HTTP allows/],
  ['a receiver without a level', receiver({ type: 'stdout', levels: [] }), /levels.*, found an empty list/],
  ['a receiver without a rule', receiver({ type: 'stdout', rules: [] }), /rules.*, found an empty list/],
  ['a repeat with every look', '{"repeat":{"critical":"0s"}}', /repeat\.critical: expected at least "1m"/],
];

describe('a configuration is refused that has', () => {
  test.each(UNUSABLE)('%s', (_title, text, said) => {
    const parsed = parseConfig(text);
    expect(parsed.isGood ? 'taken' : parsed.issues.map(formatIssue).join('\n')).toMatch(said);
  });

  test('nothing of the kind, when the same is right', () => {
    const login = { url: 'smtp://u:p%25w@m.test', password: 'pa55' };
    for (const text of [mail(login), mail({}), web({ 'X-Team': 'a b' }), '{"repeat":{"critical":"1m"}}'])
      expect(parseConfig(text)).toMatchObject({ isGood: true });
  });
});

const AROUND = { clock: systemClock, secrets: [new Secret('Zr5kTn8Lw2Yd')], print: () => {} };

test('a receiver that no sender can make sense of is one that failed, and send does not reject', async () => {
  const attempt = await send(mailReceiver('smtp://u:p%w@127.0.0.1:1'), notice(), AROUND);
  expect(attempt).toMatchObject({ is: 'failed', error: 'URI malformed' });
});

test('what a command says when it fails has no secret, and nothing that turns the text round', async () => {
  const words = 'echo "no Zr5kTn8Lw2Yd \u202etxt.exe"';
  const attempt = await send(commandReceiver('/bin/sh', '-c', `${words} >&2; exit 3`), notice(), AROUND);
  expect(attempt).toMatchObject({ is: 'failed', error: '/bin/sh ended with code 3: no [secret] txt.exe' });
});
