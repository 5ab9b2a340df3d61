/** A real `holdfast monitor` to which everything that has a secret fails: the secrets are nowhere that anybody reads. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startProgram } from '../../holdfast/test/support/processes/child.ts';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { HttpReceiver, useHttpReceivers } from '../../monitor/test/alerts/support/http-receiver.ts';
import { MailReceiver, useMailReceivers } from '../../monitor/test/alerts/support/mail-receiver.ts';
import { MAIN } from './support/built-cli.ts';
import { openLocks } from './support/holders.ts';

const server = useRedis();
const state = useRedis();
useHttpReceivers();
useMailReceivers();

const SECRETS = {
  path: 'qFq7xJwqpkJ3',
  mail: 'mail-pass-Zr5kTn',
  redis: 'redis-pass-s3same',
  token: 'token-of-the-page-77',
  typed: 'typed-by-a-stranger-88',
};
const PATIENT = { limitMs: 90_000 };

interface Line {
  readonly url?: string;
  readonly kind?: string;
  readonly rule?: string;
}

/** Only who has that password is let in from now on. */
async function admit(password: string): Promise<void> {
  const rights = ['on', 'resetpass', `>${password}`, '~*', '&*', '+@all'];
  await ask(state.port, ['ACL', 'SETUSER', 'keeper', ...rights]);
  await ask(state.port, ['CLIENT', 'KILL', 'USER', 'keeper']);
}

test('no secret is in what is printed, in an answer, in an alert or in the metrics', async () => {
  const [web, mail] = await Promise.all([HttpReceiver.start(), MailReceiver.start()]);
  web.usual = 'echo';
  mail.refusesLogins = true;
  await admit(SECRETS.redis);
  const config = join(mkdtempSync(join(tmpdir(), 'holdfast-secrets-')), 'monitor.jsonc');
  const atOnce = { for: '0s', keepFor: '0s' };
  writeFileSync(
    config,
    JSON.stringify({
      groupFor: '0s',
      state: { redis: `redis://keeper:${SECRETS.redis}@127.0.0.1:${state.port}` },
      rules: {
        'lock-held-long': { ...atOnce, above: '100ms' },
        'delivery-failing': { ...atOnce, above: '100ms' },
        'redis-unreachable': atOnce,
      },
      receivers: {
        web: { type: 'webhook', url: `${web.url}/${SECRETS.path}` },
        mail: {
          type: 'smtp',
          url: mail.url.replace('//', '//ops@'),
          password: { env: 'MAIL_PASSWORD' },
          from: 'monitor@example.test',
          to: ['ops@example.test'],
        },
        log: { type: 'stdout' },
      },
    }),
  );
  const words = ['monitor', '--redis', server.url, '--config', config, '--port', '0', '--json'];
  const child = startProgram<Line>([process.execPath, MAIN, ...words], {
    HOLDFAST_MONITOR_TOKEN: SECRETS.token,
    MAIL_PASSWORD: SECRETS.mail,
  });
  onTestFinished(async () => void (await child.kill('SIGKILL')));
  const { url = '' } = await child.next((line) => line.url !== undefined);
  const get = (path: string, token: string): Promise<Response> =>
    fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } });

  await openLocks(server).lock('order:1').acquire({ leaseMs: 600_000 });
  // Both receivers repeat what is secret when they refuse, and what they said is on the page.
  const refused =
    /Cannot POST \[secret\].*is not let in by \[secret\]|is not let in by \[secret\].*Cannot POST \[secret\]/;
  await waitFor(async () => refused.test(await (await get('api/v1/alerts', SECRETS.token)).text()), PATIENT);
  await child.next(({ rule, kind }) => rule === 'delivery-failing' && kind === 'firing');
  const before = await answers(get);
  await admit('another');
  await child.next(({ rule, kind }) => rule === 'redis-unreachable' && kind === 'firing');
  await waitFor(() => child.stderr.includes('WRONGPASS'), { ...PATIENT, what: 'what the state says' });
  const stranger = await get('api/v1/state', SECRETS.typed);
  expect(stranger.status).toBe(401);
  const after = await answers(get);
  await child.kill('SIGTERM');
  const all = [before, await stranger.text(), after, child.stderr, JSON.stringify(child.lines)].join('\n');
  for (const [what, secret] of Object.entries(SECRETS)) expect(all.includes(secret), what).toBe(false);
});

async function answers(get: (path: string, token: string) => Promise<Response>): Promise<string> {
  const paths = ['api/v1/state', 'api/v1/alerts', 'metrics'];
  const texts = await Promise.all(
    paths.map(async (path) => {
      // After a wrong login nobody of this address is let in for a second. Without the state there is no list of alerts.
      const response = await waitFor(
        async () => {
          const found = await get(path, SECRETS.token);
          return found.status === 429 ? null : found;
        },
        { ...PATIENT, what: path },
      );
      return await response.text();
    }),
  );
  return texts.join('\n');
}
