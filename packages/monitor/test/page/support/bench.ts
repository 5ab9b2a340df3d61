/** One browser and one stand-in for the monitor, shared by the rules about the page. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { State } from '../../../src/api/types.ts';
import { builtPage, launch, openTab, type Tab } from './browser.ts';
import { FakeMonitor } from './fake-monitor.ts';

export interface Bench {
  readonly monitor: FakeMonitor;
  readonly browser: Browser;
  /** The built page. */
  readonly pageFolder: string;
  /** Opens the page at a hash once the picture is there. At the end of the test it must have done nothing wrong. */
  open(hash?: string, options?: BrowserContextOptions): Promise<Page>;
  /** The same with another picture. */
  openWith(part: Partial<State>, hash?: string, options?: BrowserContextOptions): Promise<Page>;
  /** Opens the page of another monitor, and does not wait. */
  openAt(url: string): Promise<Page>;
}

export function usePageBench(): Bench {
  const tabs: Tab[] = [];
  const made: { browser?: Browser; monitor?: FakeMonitor; page?: ReturnType<typeof builtPage> } = {};
  const part = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error('the browser is started before the tests: ask inside a test');
    return value;
  };
  beforeAll(async () => {
    made.page = builtPage();
    made.monitor = new FakeMonitor(made.page.folder);
    [made.browser] = await Promise.all([launch(), made.monitor.start()]);
  });
  afterAll(async () => {
    await made.browser?.close();
    await made.monitor?.stop();
    made.page?.remove();
  });
  afterEach(async () => {
    const faults = tabs.flatMap((tab) => tab.faults);
    await Promise.all(tabs.splice(0).map((tab) => tab.close()));
    made.monitor?.reset();
    expect(faults, 'policy reports, errors and requests to elsewhere').toEqual([]);
  });
  const openAt = async (url: string, options: BrowserContextOptions = {}): Promise<Page> => {
    const tab = await openTab(part(made.browser), url, options);
    tabs.push(tab);
    return tab.page;
  };
  const bench: Bench = {
    get monitor() {
      return part(made.monitor);
    },
    get browser() {
      return part(made.browser);
    },
    get pageFolder() {
      return part(made.page).folder;
    },
    openAt,
    open: async (hash = '', options = {}) => {
      const page = await openAt(`${bench.monitor.url}${hash}`, options);
      await page.locator('.link-state.is-live').waitFor();
      return page;
    },
    openWith: (state, hash, options) => {
      bench.monitor.reset(state);
      return bench.open(hash, options);
    },
  };
  return bench;
}

/** The names in the table, from above, as far as they are drawn. */
export async function namesShown(page: Page): Promise<string[]> {
  const rows = await page.locator('.row').evaluateAll((elements) =>
    elements
      .map((row) => ({
        top: row.getBoundingClientRect().top,
        name: row.querySelector('a')?.dataset['lock'] ?? '',
      }))
      .sort((a, b) => a.top - b.top),
  );
  return rows.map(({ name }) => name);
}
