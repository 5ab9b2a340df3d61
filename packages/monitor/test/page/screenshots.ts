/**
 * Pictures of every page: `npm run screenshots [-- <folder>]`. Light, dark, 380 px wide, and as people with deuteranopia see
 * it. They are for looking at; only the README's two pictures are kept, with `--readme`: the table of locks, and a sale.
 */
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { builtPage, launch, openTab } from './support/browser.ts';
import { FakeMonitor } from './support/fake-monitor.ts';
import { takeSale } from './support/sale.ts';
import { LOOKS, take } from './support/scenes.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
const README_PICTURE = join(ROOT, 'docs/monitor.png');
const SALE_PICTURE = join(ROOT, 'docs/sale.png');

async function main(): Promise<void> {
  const args = process.argv.slice(2);
  const built = builtPage();
  const monitor = new FakeMonitor(built.folder);
  const browser = await launch();
  try {
    await monitor.start();
    if (args.includes('--readme')) {
      const { page } = await openTab(browser, monitor.url, {
        colorScheme: 'light',
        viewport: { width: 960, height: 470 },
      });
      await page.locator('.row').first().waitFor();
      await page.screenshot({ path: README_PICTURE });
      await takeSale(browser, SALE_PICTURE);
      return;
    }
    const [folder = join(ROOT, '.cache/screenshots'), ...looks] = args.filter((arg) => !arg.startsWith('--'));
    mkdirSync(folder, { recursive: true });
    for (const look of looks.length > 0 ? looks : Object.keys(LOOKS)) {
      const faults = await take(browser, monitor, look, folder);
      for (const fault of faults) console.error(`${look}, ${fault}`);
      if (faults.length > 0) process.exitCode = 1;
    }
    console.log(`written to ${folder}`);
  } finally {
    await browser.close();
    await monitor.stop();
    built.remove();
  }
}

await main();
