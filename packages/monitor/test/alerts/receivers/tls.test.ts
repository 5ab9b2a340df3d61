/** Receivers that speak TLS: whom the monitor trusts, what it says of a certificate that it does not trust, and when a login is sent. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startChild, useChildren } from '../../../../holdfast/test/support/processes/child.ts';
import {
  makeGuardedFolder,
  removeGuardedFolder,
} from '../../../../holdfast/test/support/processes/process-guard.ts';
import {
  type Certificates,
  canMakeCertificates,
  makeCertificates,
} from '../../../../holdfast/test/support/servers/certificates.ts';
import { waitFor } from '../../../../holdfast/test/support/wait-for.ts';
import { loadConfig } from '../../../src/alerts/config/holder.ts';
import { formatIssue } from '../../../src/alerts/config/json-reader.ts';
import { parseConfig } from '../../../src/alerts/config/parse.ts';
import type { Receiver } from '../../../src/alerts/config/settings.ts';
import { Beats } from '../../../src/alerts/lead/beats.ts';
import { send } from '../../../src/alerts/receivers/send.ts';
import { isLoopback } from '../../../src/alerts/receivers/smtp.ts';
import { systemClock } from '../../../src/alerts/system-clock.ts';
import { AT } from '../support/figures.ts';
import { HttpReceiver, useHttpReceivers } from '../support/http-receiver.ts';
import { hurriedClock } from '../support/hurried-clock.ts';
import { settingsWith } from '../support/machine.ts';
import { MailReceiver, useMailReceivers } from '../support/mail-receiver.ts';
import { mailReceiver, notice, webReceiver } from '../support/notices.ts';

useChildren();
useHttpReceivers();
useMailReceivers();

const CHILD = join(import.meta.dirname, '../children/send.ts');

/** The ten seconds of a try are a minute and a half: a busy machine may take its time. */
const AROUND = { clock: hurriedClock(0.1), secrets: [], print: () => {} };

/** What is said where nobody known has signed the certificate. */
const UNTRUSTED = expect.stringMatching(
  /^the certificate is not trusted: .*; the file of its authority belongs in "ca"$/,
);

describe.runIf(canMakeCertificates())('a receiver with a certificate of an authority of our own', () => {
  let folder = '';
  let known: Certificates;
  let stranger: Certificates;

  beforeAll(() => {
    folder = makeGuardedFolder('holdfast-receivers-');
    known = makeCertificates(folder);
    stranger = makeCertificates(makeGuardedFolder('holdfast-receivers-'));
  });

  afterAll(() => removeGuardedFolder(folder));

  /** The only receiver of a configuration file, as the monitor reads it. */
  function configured(fields: object): Receiver {
    const file = join(folder, 'monitor.jsonc');
    writeFileSync(file, JSON.stringify({ receivers: { one: fields } }));
    const [receiver] = loadConfig(file).receivers;
    if (receiver === undefined) throw new Error('expected a receiver, got none');
    return receiver;
  }

  const ca = (): string => join(folder, 'ca.pem');
  const mailFields = (url: string): object => ({
    type: 'smtp',
    url,
    password: 'pa55word',
    from: 'monitor@example.test',
    to: ['ops@example.test'],
  });

  test('is sent to over HTTPS when `ca` names the authority', async () => {
    const web = await HttpReceiver.start(known.server);
    const receiver = configured({ type: 'webhook', url: web.url, ca: ca() });
    expect(await send(receiver, notice(), AROUND)).toEqual({ is: 'sent' });
    expect(web.received[0]?.body).toMatchObject({ key: 'k1-1-0' });
  });

  test('is told nothing over HTTPS without `ca`, or with another authority, and the reason is clear', async () => {
    const web = await HttpReceiver.start(known.server);
    for (const trusted of [null, stranger.ca]) {
      const attempt = await send({ ...webReceiver(web.url), ca: trusted } as Receiver, notice(), AROUND);
      expect(attempt).toMatchObject({ is: 'failed', error: UNTRUSTED });
    }
    expect(web.received).toEqual([]);
  });

  test('is told nothing over HTTPS when the certificate is for another host', async () => {
    const web = await HttpReceiver.start(known.server);
    // An address of this machine that is not in the certificate.
    const receiver = { ...webReceiver(`https://0.0.0.0:${web.port}/hook`), ca: known.ca } as Receiver;
    expect(await send(receiver, notice(), AROUND)).toMatchObject({
      is: 'failed',
      error: expect.stringMatching(/^the certificate is not trusted: .*altnames/),
    });
    expect(web.received).toEqual([]);
  });

  test('gets the heartbeat when its `ca` names the authority', async () => {
    const web = await HttpReceiver.start(known.server);
    const file = join(folder, 'heartbeat.jsonc');
    writeFileSync(file, JSON.stringify({ heartbeat: { url: web.url, ca: ca() } }));
    const { heartbeat } = loadConfig(file);
    const said: string[] = [];
    const term = {
      settings: { ...settingsWith(), heartbeat },
      alerts: new Map(),
      nowMs: AT,
      isIdle: () => true,
    };
    new Beats(term, systemClock, (line) => void said.push(line)).tick();
    await waitFor(() => web.taken.length === 1 || said.length > 0, { limitMs: 60_000 });
    expect(said).toEqual([]);
  });

  test.each([
    ['smtps', true],
    ['smtp', false],
  ] as const)(
    'gets a mail and the login over %s:// when `ca` names the authority',
    async (scheme, secure) => {
      const mail = await MailReceiver.start({ ...known.server, secure });
      const url = `${scheme}://ops@localhost:${mail.port}`;
      expect(await send(configured({ ...mailFields(url), ca: ca() }), notice(), AROUND)).toEqual({
        is: 'sent',
      });
      expect(mail.mails.map(({ isByTls }) => isByTls)).toEqual([true]);
      expect(mail.logins).toEqual(['ops/pa55word']);
    },
  );

  test.each([
    ['smtps', true],
    ['smtp', false],
  ] as const)(
    'gets neither mail nor login over %s:// without `ca`, and the reason is clear',
    async (scheme, secure) => {
      const mail = await MailReceiver.start({ ...known.server, secure });
      const url = `${scheme}://ops@localhost:${mail.port}`;
      const attempt = await send(configured(mailFields(url)), notice(), AROUND);
      expect(attempt).toMatchObject({ is: 'failed', error: UNTRUSTED });
      expect([mail.mails, mail.logins]).toEqual([[], []]);
    },
  );

  test('is trusted, by HTTPS and by mail, when Node is given the authority', async () => {
    const [web, mail] = await Promise.all([
      HttpReceiver.start(known.server),
      MailReceiver.start({ ...known.server, secure: false }),
    ]);
    const words = [web.url, `smtp://ops:pa55word@localhost:${mail.port}`];
    const child = startChild<{ attempts: object[] }>(CHILD, words, { NODE_EXTRA_CA_CERTS: ca() });
    expect((await child.next()).attempts).toEqual([{ is: 'sent' }, { is: 'sent' }]);
  });

  test.each([
    ['that is not there', 'nowhere.pem', /ca: expected a file .*nowhere\.pem that can be read \(ENOENT\)/],
    ['that has a key', 'ca.key', /ca: expected certificates in PEM form in .*ca\.key, found something else/],
    ['that is an address', 'https://x.test', /ca: expected the path of a file .*, found another text/],
  ])('is refused with the configuration when `ca` is a file %s', (_what, name, said) => {
    const file = name.includes('//') ? name : join(folder, name);
    for (const section of [
      { receivers: { one: { type: 'webhook', url: 'https://x.test', ca: file } } },
      { receivers: { one: { ...mailFields('smtp://ops@x.test'), ca: file } } },
      { receivers: { one: { type: 'pagerduty', routingKey: 'r0uting-key', ca: file } } },
      { heartbeat: { url: 'https://x.test', ca: file } },
    ]) {
      const parsed = parseConfig(JSON.stringify(section));
      expect(parsed.isGood ? 'taken' : parsed.issues.map(formatIssue).join('\n')).toMatch(said);
    }
  });

  test('is refused with the configuration when `ca` stands beside http://', () => {
    const section = { receivers: { one: { type: 'webhook', url: 'http://x.test', ca: ca() } } };
    const parsed = parseConfig(JSON.stringify(section));
    expect(parsed.isGood ? 'taken' : parsed.issues.map(formatIssue).join('\n')).toMatch(
      /ca: expected https:\/\/ in the URL with it, found http:\/\//,
    );
  });
});

describe('a mail server without STARTTLS', () => {
  test('gets no login unless it is on this machine by its address', async () => {
    const mail = await MailReceiver.start();
    // Leads to this machine, and is none of its own addresses.
    const far = await send(mailReceiver(`smtp://ops@0.0.0.0:${mail.port}`, 'pa55word'), notice(), AROUND);
    expect(far).toMatchObject({ error: expect.stringMatching(/^the server offers no STARTTLS: /) });
    expect([mail.mails, mail.logins]).toEqual([[], []]);
    const near = await send(mailReceiver(`smtp://ops@127.0.0.1:${mail.port}`, 'pa55word'), notice(), AROUND);
    expect(near).toEqual({ is: 'sent' });
    expect(mail.logins).toEqual(['ops/pa55word']);
  });

  test('is found under an IPv6 address', async () => {
    // Nobody listens there; that is said of the address and not of a name in brackets.
    const attempt = await send(mailReceiver('smtp://[::1]:1'), notice(), AROUND);
    expect(attempt).toMatchObject({ is: 'failed', error: expect.stringMatching(/ ::1:1\b/) });
  });

  test('gets a mail that needs no login, wherever it is', async () => {
    const mail = await MailReceiver.start();
    expect(await send(mailReceiver(`smtp://0.0.0.0:${mail.port}`), notice(), AROUND)).toEqual({ is: 'sent' });
    expect(mail.mails.map(({ isByTls }) => isByTls)).toEqual([false]);
  });

  test.each([
    ['localhost', true],
    ['127.0.0.1', true],
    ['127.1.2.3', true],
    ['[::1]', true],
    ['0.0.0.0', false],
    ['10.0.0.1', false],
    ['[::2]', false],
    ['mail.example.com', false],
    ['127.example.com', false],
    ['localhost.example.com', false],
  ])('%s is on this machine by its address: %s', (host, isNear) => {
    expect(isLoopback(new URL(`smtp://ops@${host}:25`).hostname)).toBe(isNear);
  });
});
