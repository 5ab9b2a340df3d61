/**
 * The alerts of whole monitors on a real Redis: leading, taking over, silences, a state that goes away and comes back. What
 * waits for real backoffs and leases is in `npm run test:alerts` only; receivers.test.ts, takeover.test.ts and outage.test.ts
 * have the same rules step by step.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { startChild, useChildren } from '../../../holdfast/test/support/processes/child.ts';
import { useRedis } from '../../../holdfast/test/support/servers/redis-server.ts';
import { during, waitFor } from '../../../holdfast/test/support/wait-for.ts';
import type { Notice } from '../../src/alerts/machine/notice.ts';
import { isLong, LONG_TEST } from '../support/long.ts';
import { HttpReceiver, useHttpReceivers } from './support/http-receiver.ts';
import { MailReceiver, useMailReceivers } from './support/mail-receiver.ts';
import { monitor, said, states, world } from './support/world.ts';

const server = useRedis();
useChildren();
useHttpReceivers();
useMailReceivers();

const CHILD = join(import.meta.dirname, 'children/leader.ts');
/** Generous: what takes seconds here takes many times that on a busy machine. */
const PATIENT = { limitMs: 60_000 };

const FIRING = 'firing memory-high redis-1:6379';
const RESOLVED = 'resolved memory-high redis-1:6379';

test('an alert fires, is told, is shown, ends, and is history', async () => {
  const here = await world(server);
  const one = monitor(here);
  one.shown.memoryUsed = 970;
  await waitFor(() => said(here).includes(FIRING), PATIENT);
  await waitFor(() => one.alerts.views()[0]?.deliveries[0]?.state === 'sent', PATIENT);
  expect(one.alerts.views()[0]).toMatchObject({
    rule: 'memory-high',
    level: 'critical',
    subject: 'redis-1:6379',
    subjectKind: 'server',
    state: 'firing',
    summary: 'memory 97% of 1000 B (maxmemory), limit 95%',
    deliveries: [{ receiver: 'hook', state: 'sent', error: null }],
  });
  one.shown.memoryUsed = 100;
  await waitFor(() => said(here).includes(RESOLVED), PATIENT);
  const { past, next } = await one.alerts.page(null);
  expect(past.map(({ rule, state }) => `${rule} ${state}`)).toEqual(['memory-high resolved']);
  expect(next).toBeNull();
  expect(one.alerts.metrics().find(({ name }) => name === 'alerts_leader')?.samples[0]?.value).toBe(1);
});

test.runIf(isLong)(
  'receivers that refuse, hang, hang up and ask for patience get the message in the end, once for each key',
  async () => {
    const here = await world(server);
    const mail = await MailReceiver.start();
    const smtp = { type: 'smtp', url: mail.url, from: 'monitor@example.test', to: ['ops@example.test'] };
    here.configure({ receivers: { hook: { type: 'webhook', url: here.web.url }, mail: smtp } });
    here.web.manners.push('fail', 'refuse', 'hang', 'die', 'patience');
    mail.manners.push('later', 'hang', 'hang-up');
    const one = monitor(here);
    one.shown.memoryUsed = 970;
    await waitFor(() => said(here).includes(FIRING), { limitMs: 140_000 });
    await waitFor(() => mail.taken.length === 1, { limitMs: 140_000, what: 'the mail' });
    const keys = here.web.received.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(6);
    expect(new Set(keys).size).toBe(1);
    const ids = mail.mails.map(({ text }) => /^Message-ID: (.*)$/m.exec(text)?.[1]);
    expect(ids).toHaveLength(4);
    expect(new Set(ids).size).toBe(1);
    one.shown.memoryUsed = 100;
    await waitFor(() => mail.taken.length === 2, { ...PATIENT, what: 'the end by mail' });
    expect(mail.taken[1]).toMatch(/^Subject: .*memory/m);
  },
  LONG_TEST.timeout,
);

test.runIf(isLong)(
  'a leader that is killed is replaced when its lease of 2 s is over, and nothing is lost',
  async () => {
    const here = await world(server);
    const child = startChild<{ log?: string }>(CHILD, [server.url, here.file]);
    await child.next(({ log }) => log?.startsWith('leads') === true);
    await waitFor(() => said(here).includes(FIRING), PATIENT);
    const two = monitor(here);
    const killedAt = performance.now();
    await child.kill('SIGKILL');
    await waitFor(() => two.logged.some((line) => line.startsWith('leads')), PATIENT);
    // Its lease, one question for the lock, and a machine that may stand still for some seconds.
    expect(performance.now() - killedAt).toBeLessThan(15_000);
    await waitFor(() => said(here).includes(RESOLVED), PATIENT);
    expect(said(here)).toEqual([FIRING, RESOLVED]);
  },
);

test('what ended before it could be told is told in one message', async () => {
  const here = await world(server);
  here.web.manners.push('fail', 'fail');
  const one = monitor(here);
  one.shown.memoryUsed = 970;
  await waitFor(() => one.alerts.views()[0]?.deliveries[0]?.state === 'retrying', PATIENT);
  one.shown.memoryUsed = 100;
  await waitFor(() => said(here).includes(RESOLVED), PATIENT);
  expect(said(here)).toEqual([RESOLVED]);
  expect(here.web.taken[0]?.body).toMatchObject({ saysBoth: true });
});

test('a second monitor shows the same, and takes over at once when the first closes', async () => {
  const here = await world(server);
  const one = monitor(here);
  one.shown.memoryUsed = 970;
  await waitFor(() => said(here).includes(FIRING), PATIENT);
  const two = monitor(here);
  two.shown.memoryUsed = 970;
  await waitFor(() => states(two.alerts).includes('memory-high firing'), PATIENT);
  await one.close();
  two.shown.memoryUsed = 100;
  await waitFor(() => said(here).includes(RESOLVED), PATIENT);
  expect(said(here)).toEqual([FIRING, RESOLVED]);
});

test.runIf(isLong)('a leader that is frozen is replaced; thawed, it neither writes nor sends', async () => {
  const here = await world(server);
  const child = startChild<{ log?: string; sent?: Notice }>(CHILD, [server.url, here.file]);
  await child.next(({ log }) => log?.startsWith('leads') === true);
  await waitFor(() => said(here).includes(FIRING), PATIENT);
  const two = monitor(here);
  two.shown.memoryUsed = 970;
  child.stop();
  await waitFor(() => two.logged.some((line) => line.startsWith('leads')), PATIENT);
  two.shown.memoryUsed = 100;
  await waitFor(() => said(here).includes(RESOLVED), PATIENT);
  child.cont();
  // Its figures still say that the server is full, and it does not lead.
  const lines = child.lines.length;
  await waitFor(() => states(two.alerts).includes('memory-high resolved'), PATIENT);
  // On a machine that stands still it may be elected anew, and then it rightly says what it sees.
  const isElected = (): boolean =>
    child.lines.slice(lines).some(({ log }) => log?.startsWith('leads') === true);
  await during(1_500, () => isElected() || expect(said(here)).toEqual([FIRING, RESOLVED]));
  expect(child.lines.slice(lines).filter(({ sent }) => sent !== undefined)).toEqual([]);
  await child.kill('SIGKILL');
});

test('silences and acknowledgements of any monitor hold for the leader', async () => {
  const here = await world(server);
  const leader = monitor(here);
  await waitFor(() => leader.logged.some((line) => line.startsWith('leads')), PATIENT);
  const other = monitor(here);
  const order = { until: Date.now() + 3_600_000, reason: 'planned', by: 'ada' };
  expect(await other.alerts.silence({ ...order, match: { rule: 'memory-high' } })).toBe(0);
  await waitFor(async () => (await leader.alerts.page(null)).silences.length === 1, PATIENT);
  leader.shown.memoryUsed = 970;
  await waitFor(() => states(leader.alerts).includes('memory-high firing'), PATIENT);
  await waitFor(() => other.alerts.views()[0]?.silence?.by === 'ada', PATIENT);
  expect(await leader.alerts.ack({ ...order, match: { subject: 'redis-*' } })).toBe(1);
  await waitFor(() => leader.alerts.views()[0]?.ack?.reason === 'planned', PATIENT);
  expect(said(here)).toEqual([]);
  await expect(leader.alerts.silence({ ...order, until: 1, match: {} })).rejects.toThrow('in the future');
});

test('a refused configuration keeps the old rules and fires; a good one is in force at once', async () => {
  const here = await world(server);
  const one = monitor(here);
  writeFileSync(here.file, '{ "rules": { "memory-hihg": {} } }');
  expect(one.settings.reload(here.file)).toBe(false);
  await waitFor(() => said(here).includes(`firing config-refused shop`), PATIENT);
  expect(here.web.taken[0]?.body).toMatchObject({
    alerts: [
      {
        summary: expect.stringMatching(/line 1, column \d+: rules\.memory-hihg: expected the name of a rule/),
      },
    ],
  });
  one.shown.memoryUsed = 850;
  await waitFor(() => said(here).includes(FIRING), PATIENT);
  const other = await HttpReceiver.start();
  here.configure({ receivers: { other: { type: 'webhook', url: other.url } } });
  expect(one.settings.reload(here.file)).toBe(true);
  const isEnd = (body: Record<string, unknown>): boolean =>
    body['rule'] === 'config-refused' && body['kind'] === 'resolved';
  await waitFor(() => other.taken.some(({ body }) => isEnd(body)), PATIENT);
  here.configure({ fleet: 'another' });
  expect(one.settings.reload(here.file)).toBe(false);
  expect(one.settings.refusal).toContain('expected the fleet to stay');
});

test.runIf(isLong)(
  'the state goes away: the last leader says so at once, and the end comes when it is back',
  async () => {
    const here = await world(server);
    // Long enough that what was said is back in the state before the next leader would say it anew.
    here.configure({ rules: { 'redis-unreachable': { for: '4s', keepFor: '0s' } } });
    const one = monitor(here);
    await waitFor(() => one.logged.some((line) => line.startsWith('leads')), PATIENT);
    const two = monitor(here);
    await waitFor(() => two.alerts.metrics().length > 0, PATIENT);
    // The server is dead before a leader can see it so.
    const killed = server.kill();
    one.shown.isDown = true;
    two.shown.isDown = true;
    await killed;
    const unreachable = 'firing redis-unreachable redis-1:6379';
    await waitFor(() => said(here).includes(unreachable), PATIENT);
    const [first] = here.web.taken.filter(({ body }) => body['rule'] === 'redis-unreachable');
    expect(first?.body).toMatchObject({ voice: 'last-leader' });
    await server.restart();
    one.shown.isDown = false;
    two.shown.isDown = false;
    await waitFor(() => said(here).includes('resolved redis-unreachable redis-1:6379'), PATIENT);
    expect(said(here).filter((line) => line.includes('redis-unreachable'))).toHaveLength(2);
    const keys = here.web.taken.flatMap(({ body }) =>
      (body as unknown as Notice).alerts.map(({ key }) => key),
    );
    expect(new Set(keys).size).toBe(1);
  },
);

test('a state that was lost is restored from memory: what was told is ended', async () => {
  const here = await world(server);
  const one = monitor(here);
  one.shown.memoryUsed = 970;
  await waitFor(() => said(here).includes(FIRING), PATIENT);
  const redis = new Redis(server.port);
  const keys = await redis.keys(`holdfast_monitor:{${here.fleet}}:*`);
  await redis.del(...keys.filter((key) => !key.endsWith(':leader')));
  redis.disconnect();
  await waitFor(() => one.logged.some((line) => line.includes('was lost')), PATIENT);
  one.shown.memoryUsed = 100;
  await waitFor(() => said(here).includes(RESOLVED), PATIENT);
  expect(said(here)).toEqual([FIRING, RESOLVED]);
});
