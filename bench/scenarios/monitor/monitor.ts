/**
 * The monitor beside 10,000 locks and 1,000 changes a second, against what its documentation promises: its CPU and memory, the
 * commands that it sends, the frames of its page in a real browser, and the pace of its walk over a million keys of others.
 * There is nothing to compare it with, so each figure is a share of its bar: 1 or less keeps the promise.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { summarise } from '../../measure/statistics.ts';
import type { Row, Table } from '../../output/table.ts';
import { startRedis } from '../../run/servers/redis.ts';
import { extentOf, type Scenario } from '../scenario.ts';
import { BUDGET, readCounts, sentBetween, unexpectedBetween } from './commands.ts';
import { Crowd } from './crowd.ts';
import { measureScanPace } from './scan-pace.ts';
import { measurePage, type SmoothPage } from './smooth-page.ts';
import { WatchedMonitor } from './watched-monitor.ts';

const LOCKS = 10_000;
const CHANGES_PER_SECOND = 1_000;
const CORES_MAX = 1;
const MEMORY_MB_MAX = 300;
/** Until it has found all locks: a walk over 20,000 keys, at the pace of the walk. */
const FOUND_MS_MAX = 120_000;
/** For what happens once: the first records of all owners. */
const SETTLE_MS = 10_000;

interface Figure {
  readonly name: string;
  readonly measured: number;
  readonly bar: number;
  /** Whether the bar is the least, and not the most. */
  readonly isLeast?: boolean;
}

/** The monitor alone, then with its page open. */
async function measureLoad(seconds: number, tell: (what: string) => void): Promise<Figure[]> {
  await using server = await startRedis();
  const [redis, admin] = [new Redis(server.port, '127.0.0.1'), new Redis(server.port, '127.0.0.1')];
  try {
    const crowd = new Crowd(redis, LOCKS);
    tell('gathering');
    await crowd.gather();
    await using monitor = await WatchedMonitor.start(server.port);
    const stop = crowd.change(CHANGES_PER_SECOND);
    const startedMs = performance.now();
    while ((await monitor.state()).totals.held < LOCKS) {
      if (performance.now() - startedMs > FOUND_MS_MAX) throw new Error(`it did not find ${LOCKS} locks`);
      await sleep(500);
    }
    await sleep(SETTLE_MS);
    tell('looking');
    const [cpuMs, before, changes] = [monitor.cpuMs, await readCounts(admin, crowd.sent), crowd.changes];
    await sleep(seconds * 1_000);
    const after = await readCounts(admin, crowd.sent);
    const tookMs = after.atMs - before.atMs;
    const sent = sentBetween(before, after);
    for (const [command, calls] of unexpectedBetween(before, after))
      process.stderr.write(
        `the monitor sent a command that its budget does not have: ${calls} × ${command}\n`,
      );
    const cores = (monitor.cpuMs - cpuMs) / tookMs;
    const alone: Figure[] = [
      {
        name: 'changes a second',
        measured: ((crowd.changes - changes) * 1_000) / tookMs,
        bar: CHANGES_PER_SECOND * 0.99,
        isLeast: true,
      },
      { name: 'CPU, cores', measured: cores, bar: CORES_MAX },
      ...Object.entries(sent).map(([kind, measured]) => ({
        name: `commands a second: ${kind}`,
        measured,
        bar: BUDGET[kind as keyof typeof BUDGET],
      })),
    ];
    tell('the page');
    const openedMs = performance.now();
    const openedCpuMs = monitor.cpuMs;
    const smooth = await measurePage(monitor.url);
    const openCores = (monitor.cpuMs - openedCpuMs) / (performance.now() - openedMs);
    stop();
    if (smooth === null) process.stderr.write('chromium is not there: frames are left out\n');
    const open = { name: 'CPU with the page open, cores', measured: openCores, bar: CORES_MAX };
    const page = smooth === null ? [] : [...pageFigures(smooth), open];
    return [...alone, ...page, { name: 'memory at most, MB', measured: monitor.peakMb, bar: MEMORY_MB_MAX }];
  } finally {
    redis.disconnect();
    admin.disconnect();
  }
}

function pageFigures({ bars, phases }: SmoothPage): Figure[] {
  return phases.flatMap(({ phase, framesPerSecond, p95Ms, longestTaskMs }) => [
    {
      name: `page, ${phase}: frames a second`,
      measured: framesPerSecond,
      bar: bars.framesPerSecond,
      isLeast: true,
    },
    { name: `page, ${phase}: frame, 95th percentile, ms`, measured: p95Ms, bar: bars.p95Ms },
    { name: `page, ${phase}: longest task, ms`, measured: longestTaskMs, bar: bars.longestTaskMs },
  ]);
}

function rowOf({ name, measured, bar, isLeast = false }: Figure): Row {
  const share = isLeast ? bar / measured : measured / bar;
  const figures = { measured, bar, share };
  return {
    id: `monitor-${name}`,
    name,
    settings: isLeast ? 'at least' : 'at most',
    role: 'holdfast',
    figures: Object.fromEntries(Object.entries(figures).map(([key, value]) => [key, summarise([value])])),
    failure: share <= 1 ? null : 'over the bar',
  };
}

export const monitor: Scenario = {
  name: 'monitor',
  async measure(context) {
    // What it promises is measured, not what it was.
    if (context.isBeforeRun) return [];
    const { progress } = context;
    const { seconds } = extentOf(context, { rounds: 1, seconds: 10 }, { rounds: 1, seconds: 30 });
    const tell = (what: string): void => progress.tell('monitor', what, '');
    const figures = await measureLoad(seconds, tell);
    tell('a million keys');
    const { most, mean } = await measureScanPace(seconds);
    const all: Figure[] = [
      ...figures,
      { name: 'SCAN a second, a million keys', measured: mean, bar: BUDGET.surveys },
      // One call more may fall into a second by chance.
      { name: 'SCAN in the fullest second', measured: most, bar: BUDGET.surveys + 1 },
    ];
    const table: Table = {
      id: 'monitor',
      title: 'What the monitor takes',
      about:
        'The monitor of one server with 10,000 locks and 1,000 changes of owner a second, against what docs/operate/monitoring.md says. Commands are counted by the server. The page is that of the same monitor in Chromium. The walk is over a server with a million keys of others.',
      rounds: 1,
      columns: [
        { key: 'measured', title: 'measured', digits: 2 },
        { key: 'bar', title: 'bar', digits: 1 },
        { key: 'share', title: 'share of the bar', digits: 2 },
      ],
      rows: all.map(rowOf),
      chart: 'share',
      beforeRatios: [],
    };
    return [table];
  },
};
