/**
 * The alert rules for Prometheus: promtool checks the file, each twin fires on the series that its rule is about and not on
 * others, and a real Prometheus scrapes a real monitor.
 */
import { execFile, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { hasTool, needs } from '../../../holdfast/test/support/needs.ts';
import { guardProcess, makeGuardedFolder } from '../../../holdfast/test/support/processes/process-guard.ts';
import { freePort } from '../../../holdfast/test/support/servers/free-port.ts';
import { useRedis } from '../../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../../holdfast/test/support/wait-for.ts';
import { parseConfig } from '../../src/alerts/config/parse.ts';
import { alertName } from '../../src/alerts/prometheus/alert-name.ts';
import { prometheusRules } from '../../src/alerts/prometheus/rule-file.ts';
import { RULES } from '../../src/alerts/rules/table.ts';
import { createMonitorServer } from '../../src/index.ts';
import { isLong } from '../support/long.ts';
import { client, closing, session, TestMonitor } from '../support/monitor.ts';

const server = useRedis();
const run = promisify(execFile);
const folder = makeGuardedFolder('holdfast-prometheus-');
const hasPromtool = needs(
  'promtool',
  hasTool('promtool', '--version'),
  'the check of the alert rules for Prometheus',
);
const hasPrometheus = needs(
  'prometheus',
  hasTool('prometheus', '--version'),
  'the scrape of a monitor by Prometheus',
);

interface Case {
  /** Series as promtool writes them: name and labels, then values at each minute. */
  readonly bad: readonly (readonly [series: string, values: string])[];
  readonly well: readonly (readonly [series: string, values: string])[];
  /** The levels that fire. */
  readonly levels: readonly string[];
}

const M = 'holdfast_monitor_';
const one = (name: string, bad: string, well: string, ...levels: string[]): Case => ({
  bad: [[`${M}${name}{fleet="shop"}`, bad]],
  well: [[`${M}${name}{fleet="shop"}`, well]],
  levels: levels.length === 0 ? ['warning'] : levels,
});
const two = (
  first: string,
  second: string,
  bad: readonly [string, string],
  well: readonly [string, string],
  ...levels: string[]
): Case => ({
  bad: [
    [`${M}${first}{fleet="shop",server="a"}`, bad[0]],
    [`${M}${second}{fleet="shop",server="a"}`, bad[1]],
  ],
  well: [
    [`${M}${first}{fleet="shop",server="a"}`, well[0]],
    [`${M}${second}{fleet="shop",server="a"}`, well[1]],
  ],
  levels,
});
const steady = (value: number): string => `${value}x20`;

const CASES: Readonly<Record<string, Case>> = {
  'lock-held-long': one('hold_age_seconds_max', steady(601), steady(599)),
  'wait-long': one('wait_age_seconds_max', steady(301), steady(59), 'warning', 'critical'),
  'line-long': one('line_length_max', steady(101), steady(100)),
  'leases-expired': one('holds_total{end="expired"}', '0x15 6x5', steady(6), 'warning', 'critical'),
  'locks-vanished': one('holds_total{end="vanished"}', '0x15 1x5', steady(1), 'critical'),
  'owner-gone': one('orphans', steady(1), steady(0)),
  'renewals-late': one('renewals_late', steady(1), steady(0)),
  'lock-without-expiry': one('eternal', steady(1), steady(0), 'critical'),
  'redis-unreachable': one('redis_up', steady(0), steady(1), 'critical'),
  'redis-busy': one('redis_busy', steady(1), steady(0), 'critical'),
  'memory-high': two(
    'redis_memory_used_bytes',
    'redis_memory_limit_bytes',
    [steady(96), steady(100)],
    [steady(96), steady(0)],
    'warning',
    'critical',
  ),
  evicting: one('redis_evicted_keys_total', '0x15 3x5', steady(3), 'critical'),
  'eviction-policy': one('redis_may_evict', steady(1), steady(0)),
  'cpu-high': one('redis_main_thread_cpu_seconds_total', '0+58x20', '0+30x20', 'warning', 'critical'),
  'connections-high': two(
    'redis_clients',
    'redis_clients_limit',
    [steady(81), steady(100)],
    [steady(79), steady(100)],
    'warning',
  ),
  'connections-refused': one('redis_rejected_connections_total', '0x15 1x5', steady(1), 'critical'),
  'latency-high': one('redis_round_trip_seconds{quantile="0.99"}', steady(0.06), steady(0.04)),
  'replica-down': two(
    'redis_replicas',
    'redis_replicas_seen_max',
    [steady(1), steady(2)],
    [steady(2), steady(2)],
    'critical',
  ),
  'replica-behind': one('redis_replica_lag_seconds', steady(6), steady(4)),
  'persistence-failing': one('redis_persistence_ok', steady(0), steady(1), 'critical'),
  restarted: {
    bad: [
      [`${M}redis_uptime_seconds{fleet="shop",server="a"}`, steady(20)],
      [`${M}longest_lease_seconds{fleet="shop"}`, steady(30)],
    ],
    well: [
      [`${M}redis_uptime_seconds{fleet="shop",server="a"}`, steady(40)],
      [`${M}longest_lease_seconds{fleet="shop"}`, steady(30)],
    ],
    levels: ['warning'],
  },
  'quorum-spare': two(
    'quorum_voters',
    'quorum_needed',
    [steady(1), steady(2)],
    [steady(3), steady(2)],
    'warning',
    'critical',
  ),
  'clocks-apart': two(
    'clock_spread_seconds',
    'clock_error_seconds',
    [steady(1.2), steady(0.1)],
    [steady(1.2), steady(0.3)],
    'warning',
  ),
  'slots-unserved': one('cluster_slots_ok', steady(16_383), steady(16_384), 'critical'),
  'sentinels-few': two(
    'sentinels_up',
    'sentinels_quorum',
    [steady(1), steady(2)],
    [steady(2), steady(2)],
    'warning',
  ),
  'monitor-blind': one('look_age_seconds', steady(16), steady(14)),
  'delivery-failing': one('outbox_oldest_seconds', steady(301), steady(299)),
  'config-refused': one('config_ok', steady(0), steady(1)),
  'monitor-absent': {
    bad: [],
    well: [[`${M}build_info{fleet="shop"}`, steady(1)]],
    levels: ['critical'],
  },
};

/** `name{a="b"}{fleet="shop"}` to one set of labels. */
function series(text: string): string {
  return text.replace('}{', ',');
}

/** One test of promtool: these series for twenty minutes, and for each alert the levels that fire at the end of them. */
function unitTest(
  values: Case['bad'],
  firing: readonly (readonly [name: string, levels: readonly string[]])[],
): string[] {
  return [
    '  - interval: 1m',
    '    input_series:',
    ...values.flatMap(([text, row]) => [
      `      - series: ${JSON.stringify(series(text))}`,
      `        values: ${JSON.stringify(row)}`,
    ]),
    '    promql_expr_test:',
    ...firing.flatMap(([name, levels]) => [
      `      - expr: ${JSON.stringify(`count by (severity) (ALERTS{alertname="${name}",alertstate="firing"})`)}`,
      '        eval_time: 18m',
      `        exp_samples:${levels.length === 0 ? ' []' : ''}`,
      ...levels.flatMap((level) => [
        `          - labels: ${JSON.stringify(`{severity="${level}"}`)}`,
        '            value: 1',
      ]),
    ]),
  ];
}

test('every rule has a twin that is tested', () => {
  expect(Object.keys(CASES).sort()).toEqual(RULES.map(({ id }) => id).sort());
});

test.runIf(hasPromtool)('promtool takes the file, and each twin fires when its rule would', async () => {
  writeFileSync(join(folder, 'rules.yml'), prometheusRules());
  const { stdout } = await run('promtool', ['check', 'rules', 'rules.yml'], { cwd: folder });
  expect(stdout).toContain('SUCCESS');
  const cases = Object.entries(CASES);
  // Two tests and not two for each rule: promtool makes a database for each. The rules share no series.
  const tests = [
    ...unitTest(
      cases.flatMap(([, { bad }]) => bad),
      cases.map(([id, { levels }]) => [alertName(id), levels]),
    ),
    ...unitTest(
      cases.flatMap(([, { well }]) => well),
      cases.map(([id]) => [alertName(id), []]),
    ),
  ];
  const file = ['rule_files: [rules.yml]', 'evaluation_interval: 1m', 'tests:', ...tests, ''].join('\n');
  writeFileSync(join(folder, 'tests.yml'), file);
  await run('promtool', ['test', 'rules', 'tests.yml'], { cwd: folder }).catch(
    (error: { stderr: string }) => {
      throw new Error(error.stderr);
    },
  );
});

test('thresholds of the configuration are in the file; a rule that is off is not', () => {
  const parsed = parseConfig(
    '{"rules":{"wait-long":{"above":"90s","for":"1.5s"},"restarted":{"off":true},"lock-held-long":{"prefixes":{"a":{"off":true}}}}}',
  );
  const text = parsed.isGood ? prometheusRules(parsed.settings) : '';
  expect(text).toContain('"holdfast_monitor_wait_age_seconds_max > 90"\n        for: 1500ms');
  expect(text).not.toContain('HoldfastRestarted');
  expect(text).toContain('# Thresholds for prefixes of names are left out');
});

test.runIf(hasPrometheus && isLong)(
  'a real Prometheus scrapes a real monitor, and its alert fires',
  async () => {
    const monitor = new TestMonitor({ redis: client(server.port), fleet: 'shop' });
    const locks = session(client(server.port));
    await locks.lock('order:1').acquire();
    await monitor.untilRow('order:1');
    const web = createMonitorServer(monitor.monitor);
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
    closing({
      close: () => {
        web.closeAllConnections();
        web.close();
      },
    });
    const parsed = parseConfig('{"rules":{"lock-held-long":{"above":"1s"}}}');
    writeFileSync(join(folder, 'live.yml'), parsed.isGood ? prometheusRules(parsed.settings) : '');
    const target = `127.0.0.1:${(web.address() as AddressInfo).port}`;
    writeFileSync(
      join(folder, 'prometheus.yml'),
      JSON.stringify({
        global: { scrape_interval: '1s', evaluation_interval: '1s' },
        rule_files: ['live.yml'],
        scrape_configs: [{ job_name: 'holdfast', static_configs: [{ targets: [target] }] }],
      }),
    );
    const address = `127.0.0.1:${await freePort()}`;
    const args = [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${address}`,
    ];
    const child = spawn('prometheus', args, { stdio: 'ignore' });
    guardProcess(child);
    closing({ close: () => child.kill('SIGKILL') });
    const firing = await waitFor(
      async () => {
        const response = await fetch(`http://${address}/api/v1/alerts`);
        const { data } = (await response.json()) as {
          data: { alerts: { state: string; labels: Record<string, string> }[] };
        };
        return data.alerts.find(
          ({ state, labels }) => state === 'firing' && labels['rule'] === 'lock-held-long',
        );
      },
      { limitMs: 90_000, what: 'the alert of Prometheus' },
    );
    expect(firing.labels).toMatchObject({
      alertname: 'HoldfastLockHeldLong',
      fleet: 'shop',
      severity: 'warning',
    });
    const known = new Set(
      ((await (await fetch(`http://${address}/api/v1/label/__name__/values`)).json()) as { data: string[] })
        .data,
    );
    const metrics = readFileSync(join(folder, 'live.yml'), 'utf8').matchAll(/holdfast_monitor_\w+/g);
    /** Figures of what this server is not, or has none of yet. */
    const absent = /cluster|sentinel|quorum|outbox|config_ok|replica_lag|main_thread|clock_/;
    const missing = [...new Set([...metrics].map(([name]) => name))].filter(
      (name) => !known.has(name) && !absent.test(name),
    );
    expect(missing).toEqual([]);
  },
);
