/**
 * Pictures of every page: `npm run screenshots [-- <folder>]`. Light, dark, 380 px wide, and as people with deuteranopia see
 * it. They are for looking at; only the README's two pictures are kept, with `--readme`: the table of locks, and a sale.
 */
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { builtPage, launch, openTab } from './support/browser.ts';
import { FakeMonitor } from './support/fake-monitor.ts';
import { takeSale } from './support/sale.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
const README_PICTURE = join(ROOT, 'docs/monitor.png');
const SALE_PICTURE = join(ROOT, 'docs/sale.png');

const LOOKS: Readonly<Record<string, BrowserContextOptions & { readonly deficiency?: 'deuteranopia' }>> = {
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  narrow: { colorScheme: 'light', viewport: { width: 380, height: 760 } },
  'narrow-dark': { colorScheme: 'dark', viewport: { width: 380, height: 760 } },
  deuteranopia: { colorScheme: 'light', deficiency: 'deuteranopia' },
};

/** A page by its address, and what is done there before the picture is taken. */
const SCENES: readonly (readonly [
  name: string,
  hash: string,
  prepare?: (page: Page, monitor: FakeMonitor) => Promise<void>,
])[] = [
  ['locks', '#/locks'],
  ['lock', '#/lock/order%3A1001'],
  [
    'servers',
    '#/servers',
    async (page) => {
      const tap = page.locator('button.tile-title').first();
      if (await tap.isVisible()) await tap.click();
      await page.locator('.u-wrap').first().waitFor();
    },
  ],
  ['jobs', '#/jobs'],
  ['alerts', '#/alerts'],
  ['audit', '#/audit'],
  ['keys', '#/locks', (page) => page.keyboard.press('?')],
  [
    'take-away',
    '#/lock/order%3A1001',
    async (page) => {
      await page.getByRole('button', { name: 'Take away…' }).click();
      await page.getByLabel('Why?').fill('billing hangs in its export since 03:05');
    },
  ],
  [
    'empty',
    '#/locks',
    async (page, monitor) => {
      monitor.reset({ locks: [], alerts: [] });
      await page.reload();
      await page.getByText('Nobody holds a lock').waitFor();
    },
  ],
  [
    'disconnected',
    '#/locks',
    async (page, monitor) => {
      monitor.down();
      await page.getByText('Connection to the monitor lost').waitFor();
    },
  ],
  [
    'redis-away',
    '#/locks',
    async (page, monitor) => {
      monitor.isLooking = false;
      const [first, second] = monitor.state.servers;
      if (first !== undefined && second !== undefined) {
        const away = {
          ...second,
          health: 'down',
          healthSince: Date.now() - 8_000,
          trouble: 'connect ECONNREFUSED',
        } as const;
        monitor.state = {
          ...monitor.state,
          servers: [first, away],
          forbidden: [{ server: first.id, what: 'CONFIG GET', aclLine: 'ACL SETUSER monitor +config|get' }],
        };
      }
      await page.getByText('Locks as of').waitFor();
    },
  ],
  [
    'login',
    '#/locks',
    async (page, monitor) => {
      monitor.refusals.set('api/v1/state', { status: 401, code: 'login-needed', message: 'Log in first.' });
      monitor.refusals.set('login', {
        status: 429,
        code: 'slow-down',
        message: 'Too many wrong logins from this address.',
      });
      await page.reload();
      await page.getByLabel('Password or token').fill('wrong');
      await page.getByRole('button', { name: 'Log in' }).click();
      await page.getByRole('alert').waitFor();
    },
  ],
];

async function take(browser: Browser, monitor: FakeMonitor, look: string, folder: string): Promise<void> {
  const { deficiency, ...options } = LOOKS[look] ?? {};
  for (const [name, hash, prepare] of SCENES) {
    monitor.reset();
    const { page, close } = await openTab(browser, `${monitor.url}${hash}`, options);
    await page.locator('.totals').waitFor();
    if (deficiency !== undefined) {
      const session = await page.context().newCDPSession(page);
      await session.send('Emulation.setEmulatedVisionDeficiency', { type: deficiency });
    }
    await page.waitForTimeout(400);
    await prepare?.(page, monitor);
    await page.waitForTimeout(200);
    await page.screenshot({ path: join(folder, `${name}-${look}.png`) });
    await close();
  }
}

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
    for (const look of looks.length > 0 ? looks : Object.keys(LOOKS))
      await take(browser, monitor, look, folder);
    console.log(`written to ${folder}`);
  } finally {
    await browser.close();
    await monitor.stop();
    built.remove();
  }
}

await main();
