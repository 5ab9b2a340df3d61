/** What the page does to locks and alerts, by mouse and by keys alone. */
import { expect, test } from 'vitest';
import { isLong } from '../../support/long.ts';
import type { Bench } from '../support/bench.ts';
import { eventually } from '../support/eventually.ts';
import { makeRow, makeState } from '../support/scripted.ts';

const OWNER = makeRow('order:1001', { late: true, waiting: 5, firstWaitAt: Date.now() - 41_000 });

export function actionRules(bench: Bench): void {
  test('by keys alone: every page, a lock opened, and taken away with reason and typed name', async () => {
    const page = await bench.openWith({ locks: [OWNER, makeRow('order:2')] });
    const title = page.locator('main h1');
    for (const [key, words] of [
      ['s', 'Servers'],
      ['a', 'Alerts'],
      ['u', 'Audit'],
      ['l', 'Locks'],
    ] as const) {
      await page.keyboard.press('g');
      await page.keyboard.press(key);
      await eventually(async () => expect(await title.innerText()).toContain(words));
    }
    await page.keyboard.press('g');
    await page.keyboard.press('a');
    await page.locator('.card.alert').nth(1).waitFor();
    for (const key of ['j', 'j', 'Enter']) await page.keyboard.press(key);
    await eventually(async () => expect(await title.innerText()).toContain('order:1001'));
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.locator('.row').first().waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    await page.keyboard.press('Enter');
    await page.getByText('held', { exact: false }).first().waitFor();
    await eventually(async () => expect(await title.innerText()).toContain('order:1001'));
    await page.getByRole('button', { name: 'Take away…' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('two may be at work at once').waitFor();
    expect(await dialog.locator('.owner-now').innerText()).toBe('billing web-3 4711');
    const button = dialog.getByRole('button', { name: 'Take away' });
    expect(await button.isDisabled()).toBe(true);
    await dialog.getByLabel('Why?').focus();
    await page.keyboard.type('it hangs');
    await page.keyboard.press('Tab');
    await page.keyboard.type('order:100');
    expect(await button.isDisabled()).toBe(true);
    await page.keyboard.type('1');
    expect(await button.isEnabled()).toBe(true);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('order:1001 was taken away from billing web-3 4711').waitFor();
    const { holder, fence } = OWNER;
    const body = { name: 'order:1001', holder, fence, reason: 'it hangs' };
    expect(bench.monitor.posts).toEqual([{ path: 'api/v1/release', body, csrf: 'csrf-of-ann' }]);
    await page.keyboard.press('Escape');
    await page.locator('.row.selected [data-lock="order:1001"]').waitFor();
  });

  test('an owner that changed meanwhile is shown, and the name must be typed again', async () => {
    const { monitor } = bench;
    const page = await bench.openWith({ locks: [OWNER] }, '#/lock/order%3A1001');
    await page.getByRole('button', { name: 'Take away…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Why?').fill('it hangs');
    await dialog.getByLabel('Type the name').fill('order:1001');
    const now = { ...OWNER, app: 'mailer', host: 'web-1', pid: 88, holder: 'other:1', fence: 7 };
    monitor.refusals.set('api/v1/release', { status: 409, code: 'changed', message: 'another owner', now });
    await dialog.getByRole('button', { name: 'Take away' }).click();
    await dialog.getByText('The owner changed while you were here').waitFor();
    expect(await dialog.locator('.owner-now').innerText()).toBe('mailer web-1 88');
    expect(await dialog.getByRole('button', { name: 'Take away' }).isDisabled()).toBe(true);
    monitor.refusals.clear();
    await dialog.getByLabel('Type the name').fill('order:1001');
    await dialog.getByRole('button', { name: 'Take away' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(monitor.posts.at(-1)?.body).toMatchObject({ holder: 'other:1', fence: 7 });
  });

  test.runIf(isLong)(
    'a lock that is gone and a trail that cannot be written are told in the words of the monitor',
    async () => {
      const page = await bench.openWith({ locks: [OWNER] }, '#/lock/order%3A1001');
      await page.getByRole('button', { name: 'Take away…' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Why?').fill('it hangs');
      await dialog.getByLabel('Type the name').fill('order:1001');
      for (const [status, code, message] of [
        [404, 'not-held', 'nobody holds order:1001'],
        [503, 'audit-failed', 'the audit trail cannot be written'],
      ] as const) {
        bench.monitor.refusals.set('api/v1/release', { status, code, message });
        await dialog.getByRole('button', { name: 'Take away' }).click();
        await dialog.getByRole('alert').getByText(message).waitFor();
      }
    },
  );

  test('who may not act sees no action', async () => {
    const viewer = { user: null, mayAct: false, csrf: '' };
    const page = await bench.openWith({ viewer }, '#/lock/order%3A1001');
    await page.getByText('Read only').waitFor();
    expect(await page.getByRole('button', { name: 'Take away…' }).count()).toBe(0);
    await page.evaluate(() => {
      location.hash = '#/alerts';
    });
    await page.locator('.card.alert').first().waitFor();
    expect(await page.getByRole('button', { name: 'Silence…' }).count()).toBe(0);
  });

  test.each([
    ['silenced', 'Silence', 'api/v1/silence'],
    ['acknowledged', 'Acknowledge', 'api/v1/ack'],
  ])('an alert is %s for a time, with a reason', async (_what, word, wanted) => {
    const page = await bench.open('#/alerts');
    const [alert] = makeState().alerts;
    await page
      .getByRole('button', { name: `${word}…` })
      .first()
      .click();
    await page.getByLabel('For how long?').selectOption('1 hour');
    await page.getByLabel('Why?').fill('import runs');
    const askedAt = Date.now();
    await page.getByRole('dialog').getByRole('button', { name: word }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const { path, body, csrf } = bench.monitor.posts[0] ?? { path: '', body: {}, csrf: '' };
    expect(path).toBe(wanted);
    expect(csrf).toBe('csrf-of-ann');
    expect(body).toMatchObject({ match: { fingerprint: alert?.fingerprint }, reason: 'import runs' });
    expect(Math.abs(Number(body['until']) - askedAt - 3_600_000)).toBeLessThan(600_000);
  });
}
