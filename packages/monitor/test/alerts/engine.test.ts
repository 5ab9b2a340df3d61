/**
 * The alerts of whole monitors on a real Redis: leading, taking over, silences, a state that goes away and comes back. What
 * waits for real backoffs and leases is in `npm run test:alerts` only; receivers.test.ts, takeover.test.ts and outage.test.ts
 * have the same rules step by step.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Locks } from 'holdfast';
import { Redis } from 'ioredis';
import { afterEach, expect, test } from 'vitest';
import { startChild, useChildren } from '../../../holdfast/test/support/processes/child.ts';
import { makeGuardedFolder } from '../../../holdfast/test/support/processes/process-guard.ts';
import { useRedis } from '../../../holdfast/test/support/servers/redis-server.ts';
import { during, waitFor } from '../../../holdfast/test/support/wait-for.ts';
import type { AlertEngine } from '../../src/alert-source.ts';
import { createAlerts, loadConfig, SettingsHolder } from '../../src/alerts/index.ts';
import type { Notice } from '../../src/alerts/machine/notice.ts';
import { isLong } from '../support/long.ts';
import { card, FakeFigures, figures } from './support/figures.ts';
import { HttpReceiver, useHttpReceivers } from './support/http-receiver.ts';

const server = useRedis();
useChildren();
useHttpReceivers();

const CHILD = join(import.meta.dirname, 'children/leader.ts');
/** Generous: what takes seconds here takes many times that on a busy machine. */
const PATIENT = { limitMs: 60_000 };
const folder = makeGuardedFolder('holdfast-alerts-');
let fleets = 0;

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

interface World {
  readonly fleet: string;
  readonly file: string;
  readonly web: HttpReceiver;
  configure(change?: object): void;
}

async function world(): Promise<World> {
  fleets += 1;
  const fleet = `engine-${fleets}`;
  const file = join(folder, `${fleet}.jsonc`);
  const web = await HttpReceiver.start();
  const configure = (change: object = {}): void =>
    writeFileSync(
      file,
      JSON.stringify({
        fleet,
        rules: {
          'memory-high': { for: '0s', keepFor: '0s' },
          'redis-unreachable': { for: '0s', keepFor: '0s' },
          'config-refused': { for: '0s', keepFor: '0s' },
        },
        receivers: { hook: { type: 'webhook', url: web.url } },
        groupFor: '0s',
        ...change,
      }),
    );
  configure();
  return { fleet, file, web, configure };
}

/** One monitor; its picture says how full the server is, and whether it answers. */
function monitor({ fleet, file }: World) {
  const redis = new Redis(server.port, '127.0.0.1', { maxRetriesPerRequest: 1, retryStrategy: () => 100 });
  redis.on('error', () => {});
  const locks = new Locks(redis);
  const settings = new SettingsHolder(loadConfig(file));
  const shown = { memoryUsed: 100, isDown: false };
  const source = new FakeFigures(() => {
    const at = Date.now();
    const health = shown.isDown ? 'down' : 'up';
    return figures({
      at,
      servers: [card({ seenAt: at, startedAt: at - 86_400_000, health, memoryUsed: shown.memoryUsed })],
    });
  });
  const logged: string[] = [];
  const log = (line: string): void => void logged.push(line);
  const alerts: AlertEngine = createAlerts({
    fleet,
    figures: source,
    state: redis,
    locks,
    leaseMs: 2_000,
    settings,
    log,
  });
  alerts.start();
  const ticking = setInterval(() => source.tick(), 100);
  let isClosed = false;
  const close = async (): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    clearInterval(ticking);
    await alerts.close();
    await locks.close({ graceMs: 0 });
    redis.disconnect();
  };
  open.push(close);
  return { alerts, shown, settings, source, logged, close };
}

function said({ web }: World): string[] {
  return web.taken.map(({ body }) => {
    const { kind, rule, alerts } = body as unknown as Notice;
    return `${kind} ${rule} ${alerts.map(({ subject }) => subject).join()}`;
  });
}

function states(alerts: AlertEngine): string[] {
  return alerts.views().map(({ rule, state }) => `${rule} ${state}`);
}

const FIRING = 'firing memory-high redis-1:6379';
const RESOLVED = 'resolved memory-high redis-1:6379';

test('an alert fires, is told, is shown, ends, and is history', async () => {
  const here = await world();
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
  'a receiver that refuses, hangs up and asks for patience gets the message in the end, once for each key',
  async () => {
    const here = await world();
    here.web.manners.push('fail', 'die', 'patience');
    const one = monitor(here);
    one.shown.memoryUsed = 970;
    await waitFor(() => said(here).includes(FIRING), PATIENT);
    const keys = here.web.received.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(4);
    expect(new Set(keys).size).toBe(1);
  },
);

test('what ended before it could be told is told in one message', async () => {
  const here = await world();
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
  const here = await world();
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
  const here = await world();
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
  const here = await world();
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
  const here = await world();
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
  await waitFor(() => other.taken.some(({ body }) => body['rule'] === 'config-refused'), PATIENT);
  here.configure({ fleet: 'another' });
  expect(one.settings.reload(here.file)).toBe(false);
  expect(one.settings.refusal).toContain('expected the fleet to stay');
});

test.runIf(isLong)(
  'the state goes away: the last leader says so at once, and the end comes when it is back',
  async () => {
    const here = await world();
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
  const here = await world();
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
