/** The sale of `npm run demo -- --watch` in the browser, for the picture of the README. */
import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Browser } from 'playwright-core';
import { openTab } from './browser.ts';

const ROOT = resolve(import.meta.dirname, '../../../../..');
/** Enough items for a sale that is still on when the browser is there. */
const SALE = ['--stock', '20000', '--seconds', '8', '--watch', '--json'];
/** For people who look at the README on a laptop. */
const SIZE = { width: 960, height: 610 };
const BUILD_AND_ROUNDS_MS = 180_000;

/** The page of the lock while a shop that was killed or frozen has it: no other hold lasts as long. */
export async function takeSale(browser: Browser, path: string): Promise<void> {
  const demo = spawn(process.execPath, [join(ROOT, 'scripts/demo.mjs'), ...SALE], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise<void>((resolved) => demo.once('exit', () => resolved()));
  try {
    const { page, close } = await openTab(browser, await addressIn(demo.stderr), {
      colorScheme: 'light',
      viewport: SIZE,
    });
    await page.locator('.who').getByText('held 1 s').waitFor({ timeout: BUILD_AND_ROUNDS_MS });
    await page.screenshot({ path });
    await close();
    await ended;
  } finally {
    demo.kill('SIGTERM');
  }
}

async function addressIn(stderr: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stderr })) {
    const [url] = /http:\S+/.exec(line) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error('expected the demo to say where its page is, and it ended');
}
