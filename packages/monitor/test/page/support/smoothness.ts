/** How smooth the page is while somebody looks, scrolls and types: frames a second, frame times, and the longest task. */
import type { CDPSession, Page } from 'playwright-core';

const PHASE_MS = 8_000;
/** For what is drawn and compiled once. */
const SETTLE_MS = 2_000;

/** What is smooth: at least so many frames, and at most so many milliseconds. */
export const BARS = { framesPerSecond: 50, p95Ms: 34, longestTaskMs: 100 } as const;

export interface Smoothness {
  readonly phase: string;
  readonly framesPerSecond: number;
  readonly p95Ms: number;
  readonly worstMs: number;
  readonly longestTaskMs: number;
  /** How much of the time the main thread of the page worked. */
  readonly busyShare: number;
}

/** Measures each phase in turn. The page shows its locks already. */
export async function measureSmoothness(page: Page): Promise<Smoothness[]> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  await page.waitForTimeout(SETTLE_MS);
  const all: Smoothness[] = [];
  for (const [phase, work] of [
    ['looking', async () => {}],
    ['scrolling', scroll],
    ['typing', type],
  ] as const) {
    const before = await mainThreadSeconds(session);
    const [frames] = await Promise.all([watchFrames(page, PHASE_MS), work(page)]);
    const busyShare = ((await mainThreadSeconds(session)) - before) / (PHASE_MS / 1_000);
    all.push({ phase, ...frames, busyShare });
  }
  return all;
}

/** Runs in the page: counts its frames for that long. */
async function watchFrames(page: Page, durationMs: number): Promise<Omit<Smoothness, 'phase' | 'busyShare'>> {
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
