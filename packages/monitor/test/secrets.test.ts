/** What is secret is in no log, no error and no answer. packages/cli/test/monitor-secrets.test.ts has the same for the process. */
import { expect, test } from 'vitest';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
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
  const heartbeat = { url: new Secret(`${web.url}/qFq7xJwqpkJ3`), everyMs: 60_000 };
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
