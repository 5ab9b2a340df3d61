/**
 * Whether the page stays smooth under load: `npm run frames`. Ten thousand locks, a thousand changes a second, while somebody
 * looks, scrolls and types. Prints frames a second, the frame times and the longest task; fails below the limits. For a
 * quiet machine: a busy one says nothing about the page.
 */
import type { CDPSession, Page } from 'playwright-core';
import { builtPage, launch, openTab } from './support/browser.ts';
import { FakeMonitor } from './support/fake-monitor.ts';
import { makeCrowd } from './support/scripted.ts';

const LOCKS = 10_000;
const CHANGES_PER_SECOND = 1_000;
const EVENTS_PER_SECOND = 4;
const PHASE_MS = 8_000;

const FRAMES_PER_SECOND_MIN = 50;
const FRAME_P95_MS_MAX = 34;
const TASK_MS_MAX = 100;

interface Measured {
  readonly framesPerSecond: number;
  readonly p95Ms: number;
  readonly worstMs: number;
  readonly longestTaskMs: number;
}

/** Runs in the page: counts its frames for that long. */
async function measure(page: Page, durationMs: number): Promise<Measured> {
  return await page.evaluate(async (lengthMs) => {
    const tasks: number[] = [];
    const watcher = new PerformanceObserver((list) =>
      tasks.push(...list.getEntries().map(({ duration }) => duration)),
    );
    watcher.observe({ type: 'longtask' });
    const times: number[] = [];
    const endAt = performance.now() + lengthMs;
    while ((times.at(-1) ?? 0) < endAt) times.push(await new Promise<number>(requestAnimationFrame));
    watcher.disconnect();
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? at));
    gaps.sort((a, b) => a - b);
    const span = (times.at(-1) ?? 1) - (times[0] ?? 0);
    return {
      framesPerSecond: (gaps.length * 1_000) / span,
      p95Ms: gaps[Math.floor(gaps.length * 0.95)] ?? 0,
      worstMs: gaps.at(-1) ?? 0,
      longestTaskMs: Math.max(0, ...tasks),
    };
  }, durationMs);
}

/** CPU seconds that the page's main thread has used: other processes have no part in it. */
async function mainThreadSeconds(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN;
}

/** Changes locks at an even pace until it is stopped. */
function load(monitor: FakeMonitor): () => void {
  const crowd = monitor.state.locks;
  let turn = 0;
  const timer = setInterval(() => {
    const at = Date.now();
    const length = CHANGES_PER_SECOND / EVENTS_PER_SECOND;
    const changed = Array.from({ length }, (_, index) => {
      const row = crowd[(turn * length + index * 37) % crowd.length] ?? crowd[0];
      if (row === undefined) throw new Error('there are no locks to change');
      return {
        ...row,
        grantedAt: at,
        expiresAt: at + 20_000,
        waiting: index % 5,
        firstWaitAt: at - index * 100,
        late: index % 50 === 0,
      };
    });
    turn += 1;
    monitor.send('locks', { at, changed, removed: [], totals: { ...monitor.state.totals, lookedAt: at } });
  }, 1_000 / EVENTS_PER_SECOND);
  return () => clearInterval(timer);
}

async function scroll(page: Page): Promise<void> {
  await page.mouse.move(400, 400);
  for (let step = 0; step < 60; step += 1) {
    await page.mouse.wheel(0, 240);
    await page.waitForTimeout(PHASE_MS / 80);
  }
  await page.mouse.move(5, 5);
}

async function type(page: Page): Promise<void> {
  await page.locator('#filter').focus();
  for (const letter of 'order:1 billing web') {
    await page.keyboard.type(letter);
    await page.waitForTimeout(PHASE_MS / 30);
  }
}

const built = builtPage();
const monitor = new FakeMonitor(built.folder);
const browser = await launch();
try {
  await monitor.start();
  monitor.reset({ locks: makeCrowd(LOCKS) });
  const { page } = await openTab(browser, monitor.url);
  await page.getByText('10,000 shown').waitFor();
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const stop = load(monitor);
  await page.waitForTimeout(2_000);
  for (const [name, work] of [
    ['looking', async () => {}],
    ['scrolling', scroll],
    ['typing', type],
  ] as const) {
    const before = await mainThreadSeconds(session);
    const [measured] = await Promise.all([measure(page, PHASE_MS), work(page)]);
    const { framesPerSecond, p95Ms, worstMs, longestTaskMs } = measured;
    const busyShare = ((await mainThreadSeconds(session)) - before) / (PHASE_MS / 1_000);
    const isSmooth =
      framesPerSecond >= FRAMES_PER_SECOND_MIN && p95Ms < FRAME_P95_MS_MAX && longestTaskMs <= TASK_MS_MAX;
    if (!isSmooth) process.exitCode = 1;
    console.log(
      `${isSmooth ? 'ok  ' : 'FAIL'} ${name}: ${framesPerSecond.toFixed(1)} frames/s, p95 ${p95Ms.toFixed(0)} ms, ` +
        `worst ${worstMs.toFixed(0)} ms, longest task ${longestTaskMs.toFixed(0)} ms, main thread ${Math.round(busyShare * 100)} % busy`,
    );
  }
  stop();
} finally {
  await browser.close();
  await monitor.stop();
  built.remove();
}
