/**
 * The rules about a server that is busy, slow to answer, or has another time than the others, on real servers in that
 * state, and the rule about a configuration that was refused: each fires, reaches real receivers although they do not take
 * a message at the first try, and goes quiet. `npm run test:alerts`; judge.test.ts has the same rules on figures, in
 * `npm test`, and the tests of the command line refuse a configuration by a real SIGHUP.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { makeGuardedFolder } from '../../../holdfast/test/support/processes/process-guard.ts';
import { startProxy } from '../../../holdfast/test/support/proxies/fault-proxy.ts';
import { startRedis, useRedis } from '../../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../../holdfast/test/support/wait-for.ts';
import { isLong, LONG_TEST } from '../support/long.ts';
import { client, closing } from '../support/monitor.ts';
import { ClockProxy } from './support/clock-proxy.ts';
import { useHttpReceivers } from './support/http-receiver.ts';
import { useMailReceivers } from './support/mail-receiver.ts';
import { RuleWatch } from './support/rule-watch.ts';

const state = useRedis();
useHttpReceivers();
useMailReceivers();

/** About 20 ms of work on the main thread. */
const BUSY = 'local sum = 0 for i = 1, 2000000 do sum = sum + i end return sum';
/** Well below what one thread gets on a machine that is full, and well above what the monitor itself costs. */
const CPU_SHARE = 0.05;
/** A stall of a full machine must not look like a slow server, and a call of the monitor has 2 s. */
const SLOW_MS = 1_000;
const DELAY_EACH_WAY_MS = 700;
/** The slowest round trip of the last minute counts, and a busy machine has a slow one now and then. */
const QUIET_LIMIT_MS = 480_000;

describe.runIf(isLong)('the long form', () => {
  const ends: (() => void)[] = [];
  afterEach(() => {
    for (const end of ends.splice(0)) end();
  });

  test('cpu-high: a client whose scripts keep the main thread busy', LONG_TEST, async () => {
    const server = await startRedis();
    const watch = await RuleWatch.start(client(server.port), state.url, {
      'cpu-high': { warning: CPU_SHARE, critical: 100 },
    });
    let isBusy = true;
    ends.push(() => {
      isBusy = false;
    });
    const redis = client(server.port);
    const work = async (): Promise<void> => {
      while (isBusy) await redis.eval(BUSY, 0);
    };
    const working = Promise.all([work(), work()]);
    await watch.fires('cpu-high');
    expect(watch.notices('cpu-high')[0]?.alerts[0]).toMatchObject({
      subject: `127.0.0.1:${server.port}`,
      level: 'warning',
      summary: expect.stringMatching(/^main thread \d+(\.\d+)?% of a core, limit 5%$/),
    });
    isBusy = false;
    await working;
    await watch.ends('cpu-high');
  });

  test('latency-high: a server behind a slow network', LONG_TEST, async () => {
    const server = await startRedis();
    const proxy = await startProxy(server.port);
    closing({ close: () => proxy.stop() });
    const watch = await RuleWatch.start(client(proxy.port), state.url, {
      'latency-high': { warning: SLOW_MS },
    });
    await waitFor(
      () => [...watch.monitor.monitor.figures.read().servers.values()].some(({ health }) => health === 'up'),
      { limitMs: 60_000 },
    );
    proxy.delay(DELAY_EACH_WAY_MS);
    await watch.fires('latency-high');
    expect(watch.notices('latency-high')[0]?.alerts[0]).toMatchObject({
      subject: `127.0.0.1:${proxy.port}`,
      level: 'warning',
      summary: expect.stringMatching(/^round trip p99 1\.\d+s, limit 1s$/),
    });
    proxy.delay(0);
    await watch.endsWithin(QUIET_LIMIT_MS, 'latency-high');
  });

  test('clocks-apart: one server of a quorum has another time', LONG_TEST, async () => {
    const servers = await Promise.all([startRedis(), startRedis(), startRedis()]);
    const wrong = closing(await ClockProxy.start(servers[2]?.port ?? 0));
    const ports = [...servers.slice(0, 2).map(({ port }) => port), wrong.port];
    const watch = await RuleWatch.start(
      ports.map((port) => client(port)),
      state.url,
      { 'clocks-apart': {} },
    );
    const spreadMs = (): number => watch.monitor.monitor.figures.read().topology.clockSpreadMs ?? Number.NaN;
    await waitFor(() => spreadMs() < 1_000, { limitMs: 60_000, what: 'clocks that agree' });
    expect(watch.told).not.toContain('firing clocks-apart');
    wrong.aheadMs = 5_000;
    await watch.fires('clocks-apart');
    expect(watch.notices('clocks-apart')[0]?.alerts[0]).toMatchObject({
      subjectKind: 'fleet',
      level: 'warning',
      summary: expect.stringMatching(/ apart, known to /),
    });
    wrong.aheadMs = 0;
    await watch.ends('clocks-apart');
  });

  test('config-refused: a file with a mistake, until it is mended', LONG_TEST, async () => {
    const server = await startRedis();
    const watch = await RuleWatch.start(client(server.port), state.url, { 'config-refused': {} });
    const file = join(makeGuardedFolder('holdfast-refused-'), 'monitor.json');
    const reload = (config: object): boolean => {
      writeFileSync(file, JSON.stringify(config));
      return watch.settings.reload(file);
    };
    expect(reload({ rulez: {} })).toBe(false);
    await watch.fires('config-refused');
    expect(watch.notices('config-refused')[0]?.alerts[0]?.summary).toMatch(/line 1, .*rulez/);
    const good = {
      fleet: watch.settings.current.fleet,
      state: { redis: state.url },
      groupFor: '0s',
      rules: { 'config-refused': { keepFor: '0s' } },
      receivers: {
        ops: { type: 'webhook', url: watch.receiver.url },
        mail: { type: 'smtp', url: watch.mail.url, from: 'monitor@example.test', to: ['ops@example.test'] },
      },
    };
    expect(reload(good)).toBe(true);
    await watch.ends('config-refused');
  });
});
