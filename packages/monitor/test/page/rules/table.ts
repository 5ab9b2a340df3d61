/** The table of locks: what it says, how it moves, and when it does not. */
import { expect, test } from 'vitest';
import { during } from '../../../../holdfast/test/support/wait-for.ts';
import { isLong } from '../../support/long.ts';
import { type Bench, namesShown } from '../support/bench.ts';
import { eventually } from '../support/eventually.ts';
import { makeCrowd, makeRow } from '../support/scripted.ts';

const HOUR_MS = 3_600_000;

export function tableRules(bench: Bench): void {
  test('a row says who holds, how long, the time left in bar and word, and who waits', async () => {
    const page = await bench.open();
    const row = page.locator('.row', { has: page.locator('[data-lock="order:1001"]') });
    const words = await row.innerText();
    for (const part of ['order:1001', 'billing', 'web-3', '4711', '4 min', 'late', '5', 'first']) {
      expect(words).toContain(part);
    }
    expect(await row.locator('.bar-late').count()).toBe(1);
    expect(await page.locator('.totals').innerText()).toMatch(
      /66\s+held\s+8\s+waiting\s+1\s+late\s+0\s+lost/,
    );
    expect(await page.title()).toBe('(2!) 66 held – holdfast');
  });

  test('ten thousand locks are some dozen rows in the document, and scrolling reaches the last', async () => {
    const page = await bench.openWith({ locks: makeCrowd(10_000) });
    await page.getByText('10,000 shown').waitFor();
    expect(await page.locator('.row').count()).toBeLessThan(60);
    await page.locator('.rows').evaluate((rows) => rows.scrollTo(0, rows.scrollHeight));
    const last = page.locator('.row[aria-posinset="10000"]');
    await last.waitFor();
    expect(await last.getAttribute('aria-setsize')).toBe('10000');
    expect(await page.locator('.row').count()).toBeLessThan(60);
  });

  test.runIf(isLong)(
    'trouble comes first, then who is waited for longest, then who holds longest',
    async () => {
      const at = Date.now();
      const page = await bench.openWith({
        locks: [
          makeRow('held-short'),
          makeRow('held-long', { grantedAt: at - HOUR_MS }),
          makeRow('waited-for', { waiting: 1, firstWaitAt: at - 5_000 }),
          makeRow('waited-for-longer', { waiting: 1, firstWaitAt: at - 50_000 }),
          makeRow('late', { late: true }),
        ],
      });
      const expected = ['late', 'waited-for-longer', 'waited-for', 'held-long', 'held-short'];
      await eventually(async () => expect(await namesShown(page)).toEqual(expected));
    },
  );

  test('the order is kept while the pointer is over it, and what goes meanwhile stays in its place', async () => {
    const { monitor } = bench;
    const page = await bench.openWith({ locks: [makeRow('a'), makeRow('b'), makeRow('c')] });
    await page.locator('[data-lock="b"]').hover();
    await page.getByText('Order kept: the pointer is over it').waitFor();
    monitor.change([makeRow('c', { late: true }), makeRow('new', { late: true })], ['b']);
    await page.locator('.row.gone [data-lock="b"]').waitFor();
    await page.getByText('1 new').waitFor();
    expect(await namesShown(page)).toEqual(['a', 'b', 'c']);
    await page.mouse.move(5, 5);
    await eventually(async () => expect(await namesShown(page)).toEqual(['c', 'new', 'a']));
  });

  test('the selected row stays with its lock, and keeps the focus, when the order changes', async () => {
    const { monitor } = bench;
    const page = await bench.openWith({ locks: makeCrowd(400) });
    await page.locator('.row').first().waitFor();
    for (const key of ['j', 'j', 'j']) await page.keyboard.press(key);
    const name = await page.locator('.row.selected a').getAttribute('data-lock');
    await page.getByText('Order kept: a row has the focus').waitFor();
    const rows = monitor.state.locks;
    monitor.change(rows.slice(-20).map((row) => ({ ...row, late: true })));
    // Another sort is the reader's own wish: it takes effect although the row has the focus.
    await page.getByLabel('sort').selectOption('name');
    await eventually(async () => expect((await namesShown(page))[0]).toBe('order:10000'));
    expect(await page.locator('.row.selected a').getAttribute('data-lock')).toBe(name);
    await page.locator('.rows').evaluate((list) => list.scrollTo(0, list.scrollHeight));
    expect(await page.locator('.row.selected a').getAttribute('data-lock')).toBe(name);
  });

  test.runIf(isLong)('selected text keeps the order too', async () => {
    const page = await bench.openWith({ locks: [makeRow('a'), makeRow('b')] });
    await page.locator('[data-lock="b"] .name').evaluate((cell) => getSelection()?.selectAllChildren(cell));
    await page.getByText('Order kept: text is selected').waitFor();
    bench.monitor.change([makeRow('b', { late: true })]);
    await page.locator('.bar-late').waitFor();
    await during(1_500, async () => expect(await namesShown(page)).toEqual(['a', 'b']));
    await page.evaluate(() => getSelection()?.removeAllRanges());
    await eventually(async () => expect(await namesShown(page)).toEqual(['b', 'a']));
  });

  test('the filter and the choices leave the rows that fit, and say when none does', async () => {
    const page = await bench.open();
    await page.keyboard.press('/');
    await page.keyboard.type('REPORTS night');
    await eventually(async () => expect(await namesShown(page)).toEqual(['cron:night']));
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'waited for' }).click();
    await eventually(async () =>
      expect(await namesShown(page)).toEqual(['order:1001', 'cron:night', 'stock:sku-77']),
    );
    await page.locator('#filter').fill('nothing like it');
    await page.getByText('No lock fits “nothing like it”').waitFor();
    await page.getByRole('button', { name: 'Show all' }).click();
    await page.getByText('67 shown').waitFor();
  });

  test('in 380 px a row has two lines, and nothing is wider than the window', async () => {
    const page = await bench.open('', { viewport: { width: 380, height: 740 } });
    const row = page.locator('.row', { has: page.locator('[data-lock="order:1001"]') });
    await row.waitFor();
    for (const cell of ['.name', '.left', '.owner', '.held', '.waiting']) {
      const box = await row.locator(cell).boundingBox();
      expect(box, cell).not.toBeNull();
      expect((box?.x ?? 0) + (box?.width ?? 0), cell).toBeLessThanOrEqual(380);
    }
    const [name, owner] = await Promise.all([
      row.locator('.name').boundingBox(),
      row.locator('.owner').boundingBox(),
    ]);
    expect(owner?.y).toBeGreaterThan((name?.y ?? 0) + 10);
    for (const hash of ['#/servers', '#/alerts', '#/audit', '#/lock/order%3A1001']) {
      await page.evaluate((to) => {
        location.hash = to;
      }, hash);
      await page.locator('main.page h1').waitFor();
      expect(await page.evaluate(() => document.documentElement.scrollWidth), hash).toBeLessThanOrEqual(380);
    }
  });
}
