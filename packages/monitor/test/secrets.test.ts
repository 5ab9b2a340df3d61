/** What is secret is in no log, no error and no answer. packages/cli/test/monitor-secrets.test.ts has the same for the process. */
import { describe, expect, test } from 'vitest';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { formatIssue } from '../src/alerts/config/json-reader.ts';
import { parseConfig } from '../src/alerts/config/parse.ts';
import { Secret } from '../src/alerts/config/secret.ts';
import { SettingsHolder } from '../src/index.ts';
import { HttpReceiver, useHttpReceivers } from './alerts/support/http-receiver.ts';
import { settingsWith } from './alerts/support/machine.ts';
import { client, TestMonitor } from './support/monitor.ts';

const server = useRedis();
useHttpReceivers();

const TOKEN = 'correct horse battery';
const BEARER = { authorization: `Bearer ${TOKEN}` };
const PATIENT = { limitMs: 60_000 };

test('a password that Redis refuses is in no answer', async () => {
  const password = 'redis-password-123';
  const seen = new TestMonitor({
    redis: client(server.port, { username: 'nobody', password }),
    token: TOKEN,
  });
  const state = await waitFor(async () => {
    const found = await seen.state(BEARER);
    return found.servers[0]?.trouble?.includes('WRONGPASS') ? found : null;
  }, PATIENT);
  const all = `${JSON.stringify(state)}${await (await seen.get('metrics', BEARER)).text()}`;
  expect(all).not.toContain(password);
  expect(all).not.toContain(TOKEN);
});

test('the address of a heartbeat that is refused is in the log without what is secret about it', async () => {
  const web = await HttpReceiver.start();
  web.usual = 'echo';
  const lines: string[] = [];
  const heartbeat = { url: new Secret(`${web.url}/qFq7xJwqpkJ3`), ca: null, everyMs: 60_000 };
  const settings = new SettingsHolder({ ...settingsWith(), heartbeat });
  const seen = new TestMonitor({
    redis: client(server.port),
    settings,
    token: TOKEN,
    log: (line) => lines.push(line),
  });
  const refused = await waitFor(() => lines.find((line) => line.includes('is not taken')), PATIENT);
  expect(refused).toBe('the heartbeat is not taken: HTTP 404: Cannot POST [secret]');
  // Of another address: after a wrong login one has to wait.
  const stranger = { authorization: 'Bearer wrong-token-of-a-stranger' };
  expect((await seen.get('api/v1/state', stranger, '10.0.0.1')).status).toBe(401);
  const all = `${JSON.stringify(await seen.state(BEARER))}${lines.join('\n')}`;
  expect(all).not.toMatch(new RegExp(`qFq7xJwqpkJ3|${TOKEN}|wrong-token-of-a-stranger`));
});

/** Slips of those who write a configuration, each with a secret in it. */
const HIDDEN = 'qFq7xJwqpkJ3wIbN';
const ADDRESS = `https://hooks.example.test/T0/${HIDDEN}`;
const pager = (key: string): string => `{"receivers": {"p": {"type": "pagerduty", "routingKey": ${key}}}}`;
const SLIPS: readonly (readonly [title: string, text: string, said: RegExp])[] = [
  ['without quotes', pager(HIDDEN), /column 57: expected valid JSON \(invalid symbol\), found another text/],
  ['without the quote before it', pager(`${HIDDEN}"`), /expected valid JSON/],
  ['without the quote after it', pager(`"${HIDDEN}`), /expected valid JSON \(unexpected end of string\)/],
  ['in single quotes', pager(`'${HIDDEN}'`), /expected valid JSON/],
  ['with a backslash', pager(`"${HIDDEN}\\q"`), /expected valid JSON \(invalid escape character\)/],
  ['of digits without quotes', pager('71390571390571390'), /routingKey: expected text.*, found a number/],
  [
    'of the state in place of its object',
    `{"state": "${ADDRESS}"}`,
    /state: expected an object, found a text/,
  ],
  ['of the heartbeat in place of its object', `{"heartbeat": "${ADDRESS}"}`, /heartbeat: expected an object/],
  ['in place of a receiver', `{"receivers": {"p": "${ADDRESS}"}}`, /receivers\.p: expected an object/],
  ['as a type', `{"receivers": {"p": {"type": "${ADDRESS}"}}}`, /expected one of .*, found an address/],
  [
    'as the name of a receiver',
    `{"receivers": {"${ADDRESS}": {"type": "stdout"}}}`,
    /expected a name of 1 to 64/,
  ],
  ['as the name of a field', `{"receivers": {"p": {"type": "stdout", "${ADDRESS}": 1}}}`, /found an address/],
  ['as the name of a variable', pager(`{"env": "${ADDRESS}"}`), /env: expected the name of a variable/],
  ['as the path of a file', pager(`{"file": "${ADDRESS}"}`), /file: expected the path of a file/],
  [
    'of all headers in one text',
    `{"receivers": {"p": {"type": "webhook", "url": "http://x.test", "headers": "Bearer ${HIDDEN}"}}}`,
    /headers: expected an object of headers, found a text/,
  ],
];

describe('a mistake in the configuration is told without the secret', () => {
  test.each(SLIPS)('%s', (_title, text, said) => {
    const parsed = parseConfig(text);
    const issues = parsed.isGood ? '' : parsed.issues.map(formatIssue).join('\n');
    expect(issues).toMatch(said);
    expect(issues).not.toMatch(new RegExp(`${HIDDEN}|hooks\\.example|71390571390`));
  });
});
