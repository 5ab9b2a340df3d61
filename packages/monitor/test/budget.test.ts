/** What the monitor costs the server, counted by the server itself. */
import { expect, test } from 'vitest';
import { readCounts, sentBetween, unexpectedBetween } from '../../../bench/scenarios/monitor/commands.ts';
import { Crowd } from '../../../bench/scenarios/monitor/crowd.ts';
import { ask, askAll } from '../../holdfast/test/support/servers/raw-redis.ts';
import { startRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { defaultSettings, SettingsHolder } from '../src/index.ts';
import { client, TestMonitor } from './support/monitor.ts';

const LOCKS = 2_000;
const FOREIGN = 4_000;

/** Calls that clients sent; what scripts call inside is counted under its own name and not here. */
async function callsOf(port: number): Promise<Map<string, number>> {
  const info = String(await ask(port, ['INFO', 'commandstats']));
  const calls = [...info.matchAll(/cmdstat_([a-z|_]+):calls=(\d+)/g)];
  return new Map(calls.map(([, name = '', count]) => [name, Number(count)]));
}

test('commands stay within the budget, never subscribe, never write, and look at every lock', async () => {
  const server = await startRedis();
  const fill = `for i = 1, ${LOCKS} do
    redis.call('HSET', 'lock:' .. i, '8743c9c0-0795-4907-87fd-6c719a6b4586:' .. i, 1)
    redis.call('PEXPIRE', 'lock:' .. i, 600000)
  end
  for i = 1, ${FOREIGN} do redis.call('SET', 'other:' .. i, 'value ' .. i) end`;
  await askAll(server.port, [
    ['EVAL', fill, '0'],
    ['CONFIG', 'RESETSTAT'],
  ]);
  const beganMs = performance.now();
  const seen = new TestMonitor({ redis: client(server.port) });
  await waitFor(() => seen.monitor.figures.read().totals.held === LOCKS, { limitMs: 60_000 });
  await waitFor(async () => (await seen.state()).survey.passedAt !== null, { limitMs: 60_000 });
  const calls = await callsOf(server.port);
  const seconds = (performance.now() - beganMs) / 1000 + 1;
  const of = (name: string): number => calls.get(name) ?? 0;
  // Looks, looks of the fast lane, and steps of the survey.
  expect(of('evalsha') + of('eval')).toBeLessThanOrEqual((40 + 4 + 25) * seconds);
  expect(of('scan')).toBeLessThanOrEqual(25 * seconds + 1);
  expect(of('info')).toBeLessThanOrEqual(1.5 * seconds + 3);
  expect(of('time')).toBeLessThanOrEqual(of('evalsha') + of('eval') + 1.5 * seconds + 3);
  const forbidden = [
    'subscribe',
    'psubscribe',
    'ssubscribe',
    'keys',
    'monitor',
    'set',
    'del',
    'hset',
    'publish',
    'xadd',
  ];
  expect(forbidden.filter((name) => of(name) > 0)).toEqual([]);
  // Each page of the survey is about 200 keys: all of them were walked over.
  expect(of('scan')).toBeGreaterThanOrEqual(Math.floor((LOCKS + FOREIGN) / 400));
});

test('half the budget is half the pace', async () => {
  const server = await startRedis();
  const fill = "for i = 1, 4000 do redis.call('SET', 'other:' .. i, i) end";
  await askAll(server.port, [
    ['EVAL', fill, '0'],
    ['CONFIG', 'RESETSTAT'],
  ]);
  const beganMs = performance.now();
  const seen = new TestMonitor({ redis: client(server.port), budget: 0.5 });
  await waitFor(async () => (await seen.state()).survey.passedAt !== null, { limitMs: 60_000 });
  const seconds = (performance.now() - beganMs) / 1000 + 1;
  expect((await callsOf(server.port)).get('scan') ?? 0).toBeLessThanOrEqual(12.5 * seconds + 1);
});

test('whatever is asked for, pages cost no more than their part of the budget', async () => {
  const server = await startRedis();
  const redis = client(server.port);
  const seen = new TestMonitor({ redis, settings: new SettingsHolder(defaultSettings('shop')) });
  await waitFor(async () => (await seen.state()).survey.passedAt !== null, { limitMs: 60_000 });
  await askAll(server.port, [['CONFIG', 'RESETSTAT']]);
  const beganMs = performance.now();
  const statuses = new Set<number>();
  // Name after name, and every page of it at once.
  for (let round = 0; round < 20; round += 1) {
    const paths = Array.from({ length: 100 }, (_, at) => [
      `api/v1/lock?name=order:${round}:${at}`,
      `api/v1/audit?before=${round * 100 + at + 1}-0`,
      `api/v1/alerts?before=${round * 100 + at + 1}-0`,
      'api/v1/audit',
      'api/v1/alerts',
    ]);
    const answers = await Promise.all(paths.flat().map((path) => seen.get(path)));
    for (const { status } of answers) statuses.add(status);
  }
  const seconds = (performance.now() - beganMs) / 1000 + 1;
  const calls = await callsOf(server.port);
  const of = (name: string): number => calls.get(name) ?? 0;
  // Inspections, beside looks and steps of the survey, and what the alerts write once a second.
  expect(of('evalsha') + of('eval')).toBeLessThanOrEqual((40 + 4 + 25 + 20 + 10) * seconds + 20);
  expect(of('xrevrange') + of('xrange')).toBeLessThanOrEqual((20 + 1) * seconds + 20);
  expect(of('xrevrange')).toBeGreaterThan(0);
  expect([...statuses].sort()).toEqual([200, 429]);
});

test('who is put off is told so with 429 and when to come again, and a lock is shown without its line', async () => {
  const server = await startRedis();
  const seen = new TestMonitor({ redis: client(server.port) });
  const audits = await Promise.all(
    Array.from({ length: 50 }, (_, at) => seen.get(`api/v1/audit?before=${at + 1}-0`)),
  );
  const putOff = audits.find(({ status }) => status === 429);
  expect(putOff?.headers.get('retry-after')).toBe('1');
  expect(await putOff?.json()).toMatchObject({ error: { code: 'too-many-reads' } });
  const details = await Promise.all(Array.from({ length: 50 }, (_, at) => seen.detail(`order:${at}`)));
  expect(details.filter(({ lineAt }) => lineAt === null).length).toBeGreaterThanOrEqual(10);
});

test('the benchmark accounts for every command of the monitor, and shows one that nobody expects', async () => {
  const server = await startRedis();
  const redis = client(server.port);
  const crowd = new Crowd(redis, LOCKS);
  await crowd.gather();
  const seen = new TestMonitor({ redis: client(server.port) });
  const stop = crowd.change(200);
  // Over one connection: every script of the crowd that was sent before has run.
  const counts = (): ReturnType<typeof readCounts> => readCounts(redis, crowd.sent);
  const trailReads = async (): Promise<number> => (await counts()).calls.get('xrange') ?? 0;
  // What happens once is over: connections were made, and every owner is known.
  await waitFor(
    async () => {
      const { totals, survey, locks } = await seen.state();
      const isFound = totals.held === LOCKS && survey.passedAt !== null;
      return isFound && locks.every(({ app }) => app !== null) && (await trailReads()) > 0;
    },
    { limitMs: 90_000 },
  );
  const first = await counts();
  const trailBefore = await trailReads();
  await waitFor(async () => (await trailReads()) > trailBefore + 1, { limitMs: 60_000 });
  stop();
  const second = await counts();
  expect([...unexpectedBetween(first, second)]).toEqual([]);
  expect(sentBetween(first, second).unexpected).toBe(0);
  expect(sentBetween(first, second).looks).toBeGreaterThan(0);
  // Commands that no script calls inside, that scripts do call, and that only they call.
  await Promise.all([redis.ping(), redis.get('other'), redis.hgetall('order:1'), redis.mget('a', 'b')]);
  const third = await counts();
  const found = unexpectedBetween(second, third);
  expect([found.get('ping'), found.get('mget'), found.get('pttl')]).toEqual([1, 1, -1]);
  const calls = (sentBetween(second, third).unexpected * (third.atMs - second.atMs)) / 1_000;
  expect(calls).toBeGreaterThan(3);
});
