/** What the monitor costs the server, counted by the server itself. */
import { expect, test } from 'vitest';
import { ask, askAll } from '../../holdfast/test/support/servers/raw-redis.ts';
import { startRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
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
