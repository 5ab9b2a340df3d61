/** What each receiver is sent, over real HTTP and SMTP, and what a refusal, a hang or a death of the receiver means. */
import { describe, expect, test } from 'vitest';
import { Secret, withoutSecrets } from '../../src/alerts/config/secret.ts';
import { AGE_MS_MAX, judgeAttempt, parseRetryAfterMs } from '../../src/alerts/delivery/attempt.ts';
import { send } from '../../src/alerts/receivers/send.ts';
import { textOf } from '../../src/alerts/receivers/text.ts';
import { AT } from './support/figures.ts';
import { HttpReceiver, type Manner, useHttpReceivers } from './support/http-receiver.ts';
import { hurriedClock } from './support/hurried-clock.ts';
import { type MailManner, MailReceiver, useMailReceivers } from './support/mail-receiver.ts';
import {
  commandReceiver,
  mailReceiver,
  notice,
  noticeAlert,
  pagerReceiver,
  STDOUT,
  webReceiver,
} from './support/notices.ts';

useHttpReceivers();
useMailReceivers();

const printed: string[] = [];
/** The ten seconds of a try are a minute and a half: a busy machine may take its time. */
const AROUND = { clock: hurriedClock(0.1), secrets: [], print: (line: string) => void printed.push(line) };
/** Ten seconds are half a second, for receivers that never answer. */
const HURRIED = { ...AROUND, clock: hurriedClock(20) };

const HOSTILE = noticeAlert({ subject: 'order:<!channel> @all [x](http://evil.test)\r\nBcc: x@evil.test' });
const ENDED = notice({
  kind: 'resolved',
  alerts: [noticeAlert({ state: 'resolved', resolvedAt: AT + 90_000 })],
});

describe('formats', () => {
  test('our own webhook: the notice, under an idempotency key', async () => {
    const web = await HttpReceiver.start();
    expect(await send(webReceiver(web.url), notice(), AROUND)).toEqual({ is: 'sent' });
    expect(web.received[0]?.headers['idempotency-key']).toBe('k1-1-0');
    expect(web.received[0]?.body).toEqual(JSON.parse(JSON.stringify(notice())));
  });

  test('Slack and Mattermost: text that mentions nobody', async () => {
    const web = await HttpReceiver.start();
    await send(webReceiver(web.url, 'slack'), notice({ alerts: [HOSTILE] }), AROUND);
    const text = String(web.received[0]?.body['text']);
    expect(text).toContain('*[critical] shop: a server cannot be reached: order:&lt;!channel&gt; @\u200ball');
    expect(text).not.toMatch(/<!channel>|@all|\r/);
    expect(text).toContain('Do: Start it.');
  });

  test('Teams: an adaptive card inside attachments, without links from names', async () => {
    const web = await HttpReceiver.start();
    await send(webReceiver(web.url, 'teams'), notice({ alerts: [HOSTILE] }), AROUND);
    const body = web.received[0]?.body as {
      type: string;
      attachments: { contentType: string; content: { type: string; body: { text: string }[] } }[];
    };
    expect(body.type).toBe('message');
    expect(body.attachments[0]?.contentType).toBe('application/vnd.microsoft.card.adaptive');
    expect(body.attachments[0]?.content.type).toBe('AdaptiveCard');
    expect(body.attachments[0]?.content.body.map(({ text }) => text).join('\n')).not.toMatch(/[^\\]\[x\]/);
  });

  test('PagerDuty: trigger and resolve under the key of the incident', async () => {
    const web = await HttpReceiver.start();
    await send(pagerReceiver(web.url), notice(), AROUND);
    await send(pagerReceiver(web.url), ENDED, AROUND);
    expect(
      web.received.map(({ body }) => [body['event_action'], body['dedup_key'], body['routing_key']]),
    ).toEqual([
      ['trigger', 'f1.7', 'r0uting-key'],
      ['resolve', 'f1.7', 'r0uting-key'],
    ]);
    expect(web.received[0]?.body['payload']).toMatchObject({ severity: 'critical', source: 'redis-2:6379' });
  });

  test('Alertmanager: labels that merge, and an end five minutes away', async () => {
    const web = await HttpReceiver.start();
    const base = web.url.replace('/hook', '');
    await send(webReceiver(base, 'alertmanager'), notice(), AROUND);
    await send(webReceiver(base, 'alertmanager'), ENDED, AROUND);
    const [firing, ended] = web.received.map(({ body }) => (body as unknown as Record<string, unknown>[])[0]);
    expect(web.received[0]?.path).toBe('/api/v2/alerts');
    expect(firing).toMatchObject({
      labels: {
        alertname: 'HoldfastRedisUnreachable',
        severity: 'critical',
        fleet: 'shop',
        subject: 'redis-2:6379',
      },
      startsAt: new Date(AT).toISOString(),
      endsAt: new Date(AT + 300_000).toISOString(),
    });
    expect(ended).toMatchObject({ labels: firing?.['labels'], endsAt: new Date(AT + 90_000).toISOString() });
  });

  test('mail: a Message-ID from the key, and no header from a name', async () => {
    const mail = await MailReceiver.start();
    const receiver = mailReceiver(mail.url.replace('//', '//ops@'), 'pa55word');
    expect(await send(receiver, notice({ alerts: [HOSTILE] }), AROUND)).toEqual({ is: 'sent' });
    expect(mail.taken[0]).toMatch(/^Message-ID: <holdfast\.k1-1-0@example\.test>/m);
    expect(mail.taken[0]).not.toMatch(/^Bcc/m);
    expect(mail.logins).toEqual(['ops/pa55word']);
  });

  test('a command: the notice on standard input, arguments as they are, no shell', async () => {
    const web = await HttpReceiver.start();
    const program = `let text = ''; process.stdin.on('data', (c) => { text += c; }).on('end', () => fetch(process.argv[1], { method: 'POST', body: JSON.stringify({ said: JSON.parse(text).key, args: process.argv.slice(2) }) }));`;
    const receiver = commandReceiver(process.execPath, '-e', program, web.url, '$(date); *');
    expect(await send(receiver, notice(), AROUND)).toEqual({ is: 'sent' });
    expect(web.received[0]?.body).toEqual({ said: 'k1-1-0', args: ['$(date); *'] });
  });

  test('standard output: one line of JSON', async () => {
    await send(STDOUT, notice({ alerts: [HOSTILE] }), AROUND);
    expect(printed.at(-1)).not.toMatch(/[\r\n]/);
    expect(JSON.parse(printed.at(-1) ?? '')).toMatchObject({ key: 'k1-1-0' });
  });
});

describe('words', () => {
  test('twenty are named, the rest is counted', () => {
    const alerts = Array.from({ length: 20 }, (_, at) => noticeAlert({ subject: `lock:${at}` }));
    const { headline, lines } = textOf(notice({ alerts, total: 57 }));
    expect(headline).toContain('lock:0 and 56 more');
    expect(lines).toContain('… and 37 more');
  });

  test('an end says when and how long; who speaks in an outage is said', () => {
    expect(textOf(ENDED).lines[0]).toContain('lasted 90s');
    expect(textOf({ ...ENDED, saysBoth: true }).lines.join()).toContain(
      'could not be delivered before it ended',
    );
    expect(textOf(notice({ voice: 'second-voice' })).lines.join()).toContain('second voice');
  });
});

describe('a receiver that does not take the message', () => {
  const WEB: readonly (readonly [Manner, object])[] = [
    ['refuse', { is: 'refused', error: 'HTTP 400: no such channel' }],
    ['fail', { is: 'failed', error: 'HTTP 503', retryAfterMs: null }],
    ['patience', { is: 'failed', error: 'HTTP 429: slow down', retryAfterMs: 2_000 }],
    ['hang', { is: 'failed', error: 'no answer within 10000 ms', retryAfterMs: null }],
    ['trickle', { is: 'sent' }],
    ['die', { is: 'failed', retryAfterMs: null }],
  ];

  test.each(WEB)('over HTTP: %s', async (manner, attempt) => {
    const web = await HttpReceiver.start();
    web.manners.push(manner);
    expect(await send(webReceiver(web.url), notice(), manner === 'hang' ? HURRIED : AROUND)).toMatchObject(
      attempt,
    );
  });

  test.each([
    [400, 'refused'],
    [404, 'refused'],
    [408, 'failed'],
    [425, 'failed'],
    [429, 'failed'],
    [500, 'failed'],
  ] as const)('after HTTP %i a message is %s', async (status, is) => {
    const web = await HttpReceiver.start();
    web.manners.push(status);
    expect(await send(webReceiver(web.url), notice(), AROUND)).toMatchObject({ is });
  });

  test.each([301, 302, 307, 308])(
    'HTTP %i is a refusal, and the message goes nowhere else',
    async (status) => {
      const [web, elsewhere] = await Promise.all([HttpReceiver.start(), HttpReceiver.start()]);
      web.manners.push(status);
      web.location = elsewhere.url;
      expect(await send(webReceiver(web.url), notice(), AROUND)).toMatchObject({
        is: 'refused',
        error: `HTTP ${status}`,
      });
      expect(elsewhere.received).toEqual([]);
    },
  );

  const MAIL: readonly (readonly [MailManner, object])[] = [
    ['later', { is: 'failed', error: expect.stringContaining('451') }],
    ['never', { is: 'refused', error: expect.stringContaining('550') }],
    ['hang', { is: 'failed', error: 'no answer within 10000 ms' }],
    ['hang-up', { is: 'failed' }],
  ];

  test.each(MAIL)('by mail: %s', async (manner, attempt) => {
    const mail = await MailReceiver.start();
    mail.manners.push(manner);
    expect(await send(mailReceiver(mail.url), notice(), manner === 'hang' ? HURRIED : AROUND)).toMatchObject(
      attempt,
    );
  });

  test('nobody listens, and a command fails or hangs', async () => {
    const web = await HttpReceiver.start();
    const { url } = web;
    await web.stop();
    expect(await send(webReceiver(url), notice(), AROUND)).toMatchObject({
      is: 'failed',
      error: expect.stringContaining('ECONNREFUSED'),
    });
    const failing = commandReceiver('/bin/sh', '-c', 'echo no luck >&2; exit 3');
    expect(await send(failing, notice(), AROUND)).toMatchObject({
      is: 'failed',
      error: '/bin/sh ended with code 3: no luck',
    });
    expect(await send(commandReceiver('/bin/sleep', '600'), notice(), HURRIED)).toMatchObject({
      is: 'failed',
    });
    expect(await send(commandReceiver('/no/such/program'), notice(), AROUND)).toMatchObject({ is: 'failed' });
  });

  test('a secret in what the receiver says is not repeated', async () => {
    const secrets = [new Secret('no such channel')];
    const web = await HttpReceiver.start();
    web.manners.push('refuse');
    const attempt = await send(webReceiver(web.url), notice(), { ...AROUND, secrets });
    expect(attempt).toMatchObject({ error: 'HTTP 400: [secret]' });
  });

  test('the path of its address in what a receiver says is not repeated either', async () => {
    const web = await HttpReceiver.start();
    web.manners.push('echo');
    const url = `${web.url}/T0123/qFq7xJwqpkJ3?key=Zr5kTn8Lw2Yd`;
    const secrets = [new Secret(url), new Secret(web.url)];
    const attempt = await send(webReceiver(url), notice(), { ...AROUND, secrets });
    expect(attempt).toMatchObject({ error: 'HTTP 404: Cannot POST [secret]' });
  });

  test.each([
    [
      'https://chat.example/hooks/qFq7xJwqpkJ3',
      'no hook qFq7xJwqpkJ3 at chat.example',
      'no hook [secret] at chat.example',
    ],
    ['https://Zr5kTn8Lw2Yd@chat.example/', 'no user Zr5kTn8Lw2Yd', 'no user [secret]'],
    ['https://chat.example/?key=Zr5k%2FTn8Lw2Yd', 'bad key Zr5k/Tn8Lw2Yd', 'bad key [secret]'],
    ['smtp://ops:p%40ssword@mail.example', 'ops: p@ssword is wrong', 'ops: [secret] is wrong'],
    ['Bearer Zr5kTn8Lw2Yd', 'bad token Zr5kTn8Lw2Yd', 'bad token [secret]'],
    ['redis://keeper:s3same@10.0.0.1:6379/2', 'keeper of 10.0.0.1: s3same', 'keeper of 10.0.0.1: [secret]'],
  ])('of the secret %s the part that is secret is hidden by itself', (secret, text, shown) => {
    expect(withoutSecrets(text, [new Secret(secret)])).toBe(shown);
  });
});

describe('what follows from a try', () => {
  const failed = { is: 'failed', error: 'x', retryAfterMs: null } as const;

  test('waits a second, doubling to five minutes, give or take a quarter', () => {
    const delays = [1, 2, 3, 9, 10, 60].map((tries) => judgeAttempt(failed, tries, 0, 0.5));
    expect(delays.map((verdict) => (verdict.is === 'retry' ? verdict.afterMs : 0))).toEqual([
      1_000, 2_000, 4_000, 256_000, 300_000, 300_000,
    ]);
    expect(judgeAttempt(failed, 1, 0, 0)).toMatchObject({ afterMs: 750 });
    expect(judgeAttempt(failed, 1, 0, 1)).toMatchObject({ afterMs: 1_250 });
  });

  test('a receiver that asks for patience gets it, for an hour at most', () => {
    expect(judgeAttempt({ ...failed, retryAfterMs: 30_000 }, 1, 0, 0.5)).toMatchObject({ afterMs: 30_000 });
    expect(judgeAttempt({ ...failed, retryAfterMs: 9e9 }, 1, 0, 0.5)).toMatchObject({ afterMs: 3_600_000 });
    expect(parseRetryAfterMs('120', AT)).toBe(120_000);
    expect(parseRetryAfterMs(new Date(AT + 5_000).toUTCString(), AT)).toBe(5_000);
    expect(parseRetryAfterMs('soon', AT)).toBeNull();
  });

  test('a refusal is tried three times; everything is given up after a day', () => {
    const refused = { is: 'refused', error: 'x' } as const;
    expect([1, 2, 3].map((tries) => judgeAttempt(refused, tries, 0, 0).is)).toEqual([
      'retry',
      'retry',
      'dead',
    ]);
    expect(judgeAttempt(failed, 50, AGE_MS_MAX, 0).is).toBe('dead');
  });
});
