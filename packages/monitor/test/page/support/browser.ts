/** Debian's Chromium, as a person's browser: started once for a file, with a fresh context for each test. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { buildPage } from '../../../../../scripts/build/page.mjs';
import { hasTool } from '../../../../holdfast/test/support/needs.ts';

/** Debian's, and what other systems have in its place. */
const PROGRAMS = ['chromium', 'chromium-browser', 'google-chrome'].map((name) => `/usr/bin/${name}`);
const PROGRAM = PROGRAMS.find((path) => existsSync(path));
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
/** A browser on a busy machine takes its time, for its start and for every step. */
const LIMIT_MS = 60_000;

export function hasBrowser(): boolean {
  return PROGRAM !== undefined && hasTool(PROGRAM, '--version');
}

export interface Tab {
  readonly page: Page;
  /** What the page must never cause: violations of its policy, errors, requests to elsewhere. */
  readonly faults: string[];
  close(): Promise<void>;
}

export async function launch(): Promise<Browser> {
  if (PROGRAM === undefined) throw new Error(`expected a browser among ${PROGRAMS.join(', ')}, found none`);
  return await chromium.launch({ executablePath: PROGRAM, args: FLAGS, timeout: LIMIT_MS });
}

/** Opens a page of its own cookies and storage, and watches what it does. */
export async function openTab(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Tab> {
  const context = await browser.newContext({ viewport: { width: 1180, height: 720 }, ...options });
  const faults: string[] = [];
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) =>
      console.error(`CSP ${violatedDirective} ${blockedURI} ${sample}`),
    );
  });
  context.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol !== 'data:' && origin !== new URL(url).origin) faults.push(`request to ${request.url()}`);
  });
  const page = await context.newPage();
  page.setDefaultTimeout(LIMIT_MS);
  page.on('pageerror', (error) => faults.push(`error ${error.message}`));
  page.on('dialog', (dialog) => {
    faults.push(`dialog ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    const text = message.text();
    // The browser's own words for an answer that is not 2xx, which the page shows in its own way.
    if (message.type() === 'error' && !text.startsWith('Failed to load resource')) faults.push(text);
  });
  await page.goto(url);
  return { page, faults, close: () => context.close() };
}

/** Builds the page as the package has it. Returns its folder and how to remove it. */
export function builtPage(): { readonly folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-page-'));
  buildPage(resolve(import.meta.dirname, '../../../page'), folder);
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
