/** Groups of names as a label of `/metrics`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { makeGuardedFolder } from '../../holdfast/test/support/processes/process-guard.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { defaultSettings } from '../src/alerts/config/defaults.ts';
import { parseConfig } from '../src/alerts/config/parse.ts';
import { createMonitor, SettingsHolder } from '../src/index.ts';
import { matcherOf } from '../src/sampling/locks/glob.ts';
import { client, session, TestMonitor } from './support/monitor.ts';

const server = useRedis();

/** The lines of one metric, without its name and fleet. */
async function samplesOf(seen: TestMonitor, metric: string): Promise<string[]> {
  const text = await (await seen.get('metrics')).text();
  const begin = `holdfast_monitor_${metric}{fleet="shop",`;
  return text.split('\n').flatMap((line) => (line.startsWith(begin) ? [line.slice(begin.length)] : []));
}

test('the figures of locks are told for each group, the first pattern that fits, and for the rest', async () => {
  const parsed = parseConfig('{ "fleet": "shop", "groups": ["order:vip:*", "order:*", "cron:*"] }');
  if (!parsed.isGood) throw new Error('expected a good configuration');
  const locks = session(client(server.port), { prefix: 'shop:' });
  const names = ['order:1', 'order:2', 'order:vip:1', 'report'];
  const leases = await Promise.all(
    names.map((name) => locks.lock(name).acquire({ leaseMs: 600_000, renew: false })),
  );
  const seen = new TestMonitor({
    redis: client(server.port),
    prefix: 'shop:',
    settings: new SettingsHolder(parsed.settings),
  });
  await waitFor(() => names.every((name) => seen.row(name) !== undefined), { what: 'all four' });
  expect(await samplesOf(seen, 'locks_held')).toEqual([
    'group="order:vip:*"} 1',
    'group="order:*"} 2',
    'group="cron:*"} 0',
    'group="_other_"} 1',
  ]);
  expect(await samplesOf(seen, 'hold_age_seconds_max')).toHaveLength(4);
  await leases[1]?.release();
  await waitFor(
    async () => (await samplesOf(seen, 'holds_total')).includes('group="order:*",end="released"} 1'),
    { what: 'the end in its group' },
  );
  expect(await samplesOf(seen, 'holds_total')).toContain('group="order:vip:*",end="released"} 0');
  expect((await seen.get('metrics').then((response) => response.text())).includes('order:1')).toBe(false);
});

test('a new configuration changes groups, mutexes and the limit of memory at once', async () => {
  const file = join(makeGuardedFolder('holdfast-reload-'), 'monitor.json');
  const settings = new SettingsHolder(defaultSettings('shop'));
  const reload = (change: object): boolean => {
    writeFileSync(file, JSON.stringify({ fleet: 'shop', ...change }));
    return settings.reload(file);
  };
  expect(reload({ groups: ['order:*'], mutexes: ['cache:*'], memoryLimit: '1GB' })).toBe(true);
  const redis = client(server.port);
  await redis.set('reload:cache:1', 'f3b0c44298fc1c149afbf4c8996fb924', 'PX', 600_000);
  await redis.set('reload:token:1', 'f3b0c44298fc1c149afbf4c8996fb925', 'PX', 600_000);
  const seen = new TestMonitor({ redis, prefix: 'reload:', settings });
  const limit = (): unknown => [...seen.monitor.figures.read().servers.values()][0]?.memoryLimit;
  await seen.untilRow('cache:1');
  await waitFor(() => limit() === 1_024 ** 3, { what: 'the limit of the first file' });
  expect(await samplesOf(seen, 'locks_held')).toEqual(['group="order:*"} 0', 'group="_other_"} 1']);
  expect(reload({ groups: ['token:*'], mutexes: ['token:*'], memoryLimit: '2GB' })).toBe(true);
  expect([seen.row('cache:1'), limit()]).toEqual([undefined, 2 * 1_024 ** 3]);
  await seen.untilRow('token:1');
  expect(await samplesOf(seen, 'locks_held')).toEqual(['group="token:*"} 1', 'group="_other_"} 0']);
  // Forgotten, not ended: nothing happened to it.
  expect((await samplesOf(seen, 'holds_total')).filter((line) => !line.endsWith(' 0'))).toEqual([]);
  expect(reload({ mutexes: [] })).toBe(true);
  expect(await (await seen.get('metrics')).text()).toContain('holdfast_monitor_locks_held{fleet="shop"} 0');
  expect(reload({ state: { redis: 'redis://127.0.0.1:1' } })).toBe(false);
  expect(settings.refusal).toContain('expected state.redis to stay as it was');
});

test.each([
  ['no list', 'order:*'],
  ['an empty pattern', ['']],
  ['no texts', [7]],
  ['more than a hundred', Array.from({ length: 101 }, (_, index) => `g${index}:*`)],
])('groups that are %s are refused', (_what, groups) => {
  const redis = client(server.port);
  expect(() => createMonitor({ redis, groups: groups as string[] })).toThrow(/expected groups/);
});

test('a pattern fits as the star says, whatever stands between', () => {
  const part = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 6 });
  fc.assert(
    fc.property(part, fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 8 }), (pattern, name) => {
      const expression = new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*')}$`);
      expect(matcherOf([pattern], 'p:')?.(`p:${name}`)).toBe(expression.test(name));
    }),
  );
});

test('a pattern costs one pass over a name that somebody has made up to fit almost', () => {
  const fits = matcherOf(['*:*:*:*:x'], '');
  const before = process.cpuUsage();
  expect(fits?.(':'.repeat(800))).toBe(false);
  // A regular expression takes half a minute, in which the monitor sees and says nothing.
  expect(process.cpuUsage(before).user).toBeLessThan(5_000_000);
});
