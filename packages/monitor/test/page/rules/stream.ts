/** A cut of the stream, and what comes after it. */
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { isLong } from '../../support/long.ts';
import type { Bench } from '../support/bench.ts';
import { eventually } from '../support/eventually.ts';
import { makeRow } from '../support/scripted.ts';

/** What the rows say, but for times. */
async function picture(page: Page): Promise<string[]> {
  const rows = await page.locator('.row').allInnerTexts();
  const totals = await page.locator('.totals li:not(.age)').allInnerTexts();
  return [...totals, ...rows.map((row) => row.replace(/\d+ (s|min)/g, '').replace(/\s+/g, ' ')).sort()];
}

const MISSED = [
  makeRow('appeared', { app: 'mailer' }),
  makeRow('order:1', { waiting: 4, firstWaitAt: Date.now() }),
];

export function streamRules(bench: Bench): void {
  test('caught up after a cut the page equals a fresh one, without fetching the picture again', async () => {
    const { monitor } = bench;
    const page = await bench.openWith({
      locks: [makeRow('order:1'), makeRow('order:2'), makeRow('order:3')],
    });
    await page.locator('.row').first().waitFor();
    // A page that has no stream yet when it is cut off begins anew.
    await eventually(async () => expect(monitor.streamCount).toBe(1));
    const before = monitor.stateCount;
    monitor.down();
    await page.getByText('Connection to the monitor lost').waitFor();
    monitor.change(MISSED, ['order:2']);
    monitor.change([makeRow('order:3', { ownerGone: true })]);
    monitor.up();
    await page.locator('[data-lock="appeared"]').waitFor();
    const fetchedBy = monitor.stateCount;
    const fresh = await bench.open();
    await fresh.locator('[data-lock="appeared"]').waitFor();
    await eventually(async () => expect(await picture(page)).toEqual(await picture(fresh)));
    expect(fetchedBy).toBe(before);
  });

  test('after a cut that the monitor has forgotten the picture is fetched anew', async () => {
    const { monitor } = bench;
    const page = await bench.openWith({ locks: [makeRow('order:1'), makeRow('order:2')] });
    await page.locator('.row').first().waitFor();
    const before = monitor.stateCount;
    monitor.down();
    monitor.change(MISSED, ['order:2']);
    monitor.forget();
    monitor.up();
    await page.locator('[data-lock="appeared"]').waitFor();
    await eventually(async () => expect(await page.locator('.row').count()).toBe(2));
    expect(monitor.stateCount).toBeGreaterThan(before);
  });

  test.runIf(isLong)('a login that has run out is asked for when the stream is cut', async () => {
    const page = await bench.open();
    const refusal = { status: 401, code: 'login-needed', message: 'log in first' } as const;
    for (const path of ['api/v1/state', 'api/v1/stream']) bench.monitor.refusals.set(path, refusal);
    bench.monitor.cut();
    await page.getByLabel('Password or token').waitFor();
  });

  test.runIf(isLong)('a page of an older version loads itself anew', async () => {
    const page = await bench.open();
    const loaded = page.waitForEvent('load');
    bench.monitor.state = { ...bench.monitor.state, version: 'newer' };
    bench.monitor.cut();
    await loaded;
    await page.locator('.link-state.is-live').waitFor();
  });
}
