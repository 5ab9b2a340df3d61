/** Every page and state, in every look that its readers may have: for pictures to look at. */
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { openTab } from './browser.ts';
import type { FakeMonitor } from './fake-monitor.ts';

export const LOOKS: Readonly<
  Record<string, BrowserContextOptions & { readonly deficiency?: 'deuteranopia' }>
> = {
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

/** Takes a picture of every scene. Returns what the page must never cause, by scene. */
export async function take(
  browser: Browser,
  monitor: FakeMonitor,
  look: string,
  folder: string,
): Promise<string[]> {
  const { deficiency, ...options } = LOOKS[look] ?? {};
  const all: string[] = [];
  for (const [name, hash, prepare] of SCENES) {
    monitor.reset();
    const { page, faults, close } = await openTab(browser, `${monitor.url}${hash}`, options);
    await page.locator('.totals').waitFor();
    if (deficiency !== undefined) {
      const session = await page.context().newCDPSession(page);
      await session.send('Emulation.setEmulatedVisionDeficiency', { type: deficiency });
    }
    await page.waitForTimeout(400);
    await prepare?.(page, monitor);
    await page.waitForTimeout(200);
    await page.screenshot({ path: pictureOf(folder, name, look) });
    const wideBy = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wideBy > 0) faults.push(`wider than the window by ${wideBy} px`);
    all.push(...faults.map((fault) => `${name}: ${fault}`));
    await close();
  }
  return all;
}

export function pictureOf(folder: string, scene: string, look: string): string {
  return join(folder, `${scene}-${look}.png`);
}

export const SCENE_NAMES: readonly string[] = SCENES.map(([name]) => name);
