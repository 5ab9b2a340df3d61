/**
 * Whether the page stays smooth under load: `npm run frames`. Ten thousand locks, a thousand changes a second, while somebody
 * looks, scrolls and types. Prints frames a second, the frame times and the longest task; fails below the limits. For a
 * quiet machine: a busy one says nothing about the page.
 */
import { builtPage, launch, openTab } from './support/browser.ts';
import { FakeMonitor } from './support/fake-monitor.ts';
import { makeCrowd } from './support/scripted.ts';
import { BARS, measureSmoothness } from './support/smoothness.ts';

const LOCKS = 10_000;
const CHANGES_PER_SECOND = 1_000;
const EVENTS_PER_SECOND = 4;

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

const built = builtPage();
const monitor = new FakeMonitor(built.folder);
const browser = await launch();
try {
  await monitor.start();
  monitor.reset({ locks: makeCrowd(LOCKS) });
  const { page } = await openTab(browser, monitor.url);
  await page.getByText('10,000 shown').waitFor();
  const stop = load(monitor);
  for (const measured of await measureSmoothness(page)) {
    const { phase, framesPerSecond, p95Ms, worstMs, longestTaskMs, busyShare } = measured;
    const isSmooth =
      framesPerSecond >= BARS.framesPerSecond && p95Ms < BARS.p95Ms && longestTaskMs <= BARS.longestTaskMs;
    if (!isSmooth) process.exitCode = 1;
    console.log(
      `${isSmooth ? 'ok  ' : 'FAIL'} ${phase}: ${framesPerSecond.toFixed(1)} frames/s, p95 ${p95Ms.toFixed(0)} ms, ` +
        `worst ${worstMs.toFixed(0)} ms, longest task ${longestTaskMs.toFixed(0)} ms, main thread ${Math.round(busyShare * 100)} % busy`,
    );
  }
  stop();
} finally {
  await browser.close();
  await monitor.stop();
  built.remove();
}
