/** Groups of names as a label of `/metrics`. */
import { Locks } from 'holdfast';
import { expect, test } from 'vitest';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { parseConfig } from '../src/alerts/config/parse.ts';
import { createMonitor, SettingsHolder } from '../src/index.ts';
import { client, closing, TestMonitor } from './support/monitor.ts';

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
  const locks = closing(new Locks(client(server.port), { prefix: 'shop:' }));
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

test.each([
  ['no list', 'order:*'],
  ['an empty pattern', ['']],
  ['no texts', [7]],
  ['more than a hundred', Array.from({ length: 101 }, (_, index) => `g${index}:*`)],
])('groups that are %s are refused', (_what, groups) => {
  const redis = client(server.port);
  expect(() => createMonitor({ redis, groups: groups as string[] })).toThrow(/expected groups/);
});
