/** The other pages, and what must never happen on any. */
import { expect, test } from 'vitest';
import { isLong } from '../../support/long.ts';
import type { Bench } from '../support/bench.ts';
import { eventually } from '../support/eventually.ts';
import { makeAlert, makeAudit, makeCard, makeRow, makeState } from '../support/scripted.ts';
import { makeJob } from '../support/scripted-jobs.ts';

const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '"><script>alert(2)</script>',
  "';alert(3)//",
  'javascript:alert(4)',
  'a/../../b?c#d%2f',
  'line\nbreak\tand\u0000nul',
  'safe\u202egnp.exe',
  `long${'x'.repeat(4_000)}`,
  '__proto__',
];

export function pageRules(bench: Bench): void {
  test('one lock: owner, lease, line and how each hold ended, with how sure that is', async () => {
    const page = await bench.open('#/lock/order%3A1001');
    await page.locator('.holds li').first().waitFor();
    const words = (await page.locator('main').innerText()).replace(/\s+/g, ' ');
    for (const part of [
      'held 4 min by billing web-3 4711',
      '1794000123456789',
      'Line 7 of 240',
      'checkout web-2 901',
      'not listening',
      'expired, to 250 ms',
      'ran out (fixed lease), likely',
      'Seen from Redis',
    ]) {
      expect(words).toContain(part);
    }
    expect(await page.locator('.piece.bad').count()).toBe(2);
  });

  test('servers: a card each, with plots under one cursor', async () => {
    const page = await bench.open('#/servers');
    await eventually(async () =>
      expect(await page.locator('.card').first().locator('.u-wrap').count()).toBe(5),
    );
    const words = await page.locator('.card').nth(1).innerText();
    for (const part of [
      'redis-2:6379',
      'primary',
      '96 %',
      '88 %',
      'allkeys-lru: locks can go',
      '1 of 2 seen',
    ]) {
      expect(words).toContain(part);
    }
    await page.locator('.card').first().locator('.u-over').first().hover();
    await eventually(async () => {
      const titles = await page.locator('.card').first().locator('.tile-title b').allInnerTexts();
      expect(titles.filter((title) => / at \d\d:\d\d:\d\d$/.test(title))).toHaveLength(5);
      return true;
    });
  });

  test('alerts: the worst first, with why, what to do and who was told; silences and the past below', async () => {
    const at = Date.now();
    bench.monitor.reset();
    bench.monitor.alertPage = {
      active: [],
      past: [makeAlert({ incident: 'past.1', rule: 'evicting', state: 'resolved', resolvedAt: at - 60_000 })],
      silences: [
        { id: 's1', match: { rule: 'cpu-high' }, by: 'bob', at, until: at + 60_000, reason: 'import' },
      ],
      next: null,
    };
    const page = await bench.open('#/alerts');
    await page.getByText('evicting').waitFor();
    const cards = await page.locator('.card.alert').allInnerTexts();
    expect(cards[0]).toMatch(
      /critical[\s\S]*memory-high[\s\S]*Why it matters:[\s\S]*What to do:[\s\S]*slack sent [\s\S]*mail refused 4×/,
    );
    expect(cards[1]).toMatch(/renewals-late[\s\S]*acknowledged by ann/);
    expect(await page.locator('main').innerText()).toMatch(/cpu-high until .* by bob: import/);
  });

  test('without rules Alerts says that nothing is judged; with rules and no alert, that nothing is wrong', async () => {
    const page = await bench.openWith({ alerts: [], limits: null }, '#/alerts');
    await page.getByText('No rule is judged').waitFor();
    expect(await page.getByText('Nothing is wrong').count()).toBe(0);
    bench.monitor.state = { ...bench.monitor.state, limits: makeState().limits };
    await page.getByText('Nothing is wrong by the rules').waitFor();
  });

  test.runIf(isLong)('servers: a figure is marked from where the rule in force warns', async () => {
    const limits = { memoryShare: null, cpuShare: 0.05, clientsShare: 0.9, roundTripMs: 60_000 };
    const page = await bench.openWith(
      { servers: [makeCard('redis-1:6379', { cpu: 0.1 })], limits },
      '#/servers',
    );
    const marked = page.locator('.tile-title b.is-late');
    await eventually(async () => expect(await marked.allInnerTexts()).toEqual(['10 %']));
    bench.monitor.state = { ...bench.monitor.state, limits: { ...limits, cpuShare: 0.2 } };
    await eventually(async () => expect(await marked.count()).toBe(0));
  });

  test('audit: when, who, what, why, result; older entries on demand', async () => {
    bench.monitor.auditPage = { entries: makeAudit(), next: '1-1' };
    const page = await bench.open('#/audit');
    const words = (await page.locator('.trail').innerText()).replace(/\s+/g, ' ');
    expect(words).toMatch(
      /ann page on ops-1, 10\.0\.0\.7 took away order:1001 .* reports hung in its export/,
    );
    expect(words).toContain('asked; its end is not known');
    bench.monitor.auditPage = {
      entries: makeAudit().map((entry) => ({ ...entry, id: `0-${entry.id}` })),
      next: null,
    };
    await page.getByRole('button', { name: 'Older' }).click();
    await eventually(async () => expect(await page.locator('.trail tbody tr').count()).toBe(4));
    expect(await page.getByRole('button', { name: 'Older' }).count()).toBe(0);
  });

  test('jobs: last run, how it ended, how long, where, next; nothing, a refusal and a first walk are told', async () => {
    bench.monitor.reset();
    const page = await bench.open('#/jobs');
    await eventually(async () => expect(await page.locator('.jobs tbody tr').count()).toBe(5));
    const rows = (await page.locator('.jobs tbody tr').allInnerTexts()).map((text) =>
      text.replace(/\s+/g, ' '),
    );
    expect(rows[0]).toMatch(/^cache:warm every 5 min .*\d\d:00:00 running 7\.4 s web-1 .*\d\d:00:00$/);
    expect(rows[1]).toMatch(/invoices .* failed attempt 3 Error: SMTP 451 try later 42 s batch-1/);
    expect(rows[2]).toMatch(/migrate by hand .* done 5 min ops-1 –/);
    expect(rows[3]).toMatch(/died – web-1/);
    expect(rows[4]).toMatch(/missed – – /);
    expect(await page.locator('.jobs .is-late').count()).toBe(3);

    bench.monitor.jobsPage = { readAt: null, jobs: [makeJob('a')], count: 1 };
    await page.reload();
    await page.getByText('1 found so far; the first walk').waitFor();
    bench.monitor.jobsPage = { readAt: Date.now(), jobs: [], count: 0 };
    await page.reload();
    await page.getByText('There are no jobs').waitFor();
    const message = 'it needs ~holdfast_job:*';
    bench.monitor.refusals.set('api/v1/jobs', { status: 403, code: 'forbidden', message });
    await page.reload();
    await page.getByText(message).waitFor();
    bench.monitor.refusals.clear();
    bench.monitor.jobsPage = { readAt: Date.now(), jobs: [makeJob('<b>x</b>\u202e')], count: 1 };
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('<b>x</b>\\u{202e}').waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('l');
    await page.locator('.row').first().waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('j');
    await page.locator('.jobs').waitFor();
  });

  test('hostile names and words are text, on every page', async () => {
    const locks = HOSTILE.map((name) => makeRow(name, { app: name, host: name, late: true }));
    const alerts = HOSTILE.map((name, index) =>
      makeAlert({
        incident: String(index),
        subject: name,
        subjectKind: 'lock',
        summary: name,
        why: name,
        todo: name,
      }),
    );
    const page = await bench.openWith({ locks, alerts, fleet: HOSTILE[0] ?? '' });
    await eventually(async () => expect(await page.locator('.row').count()).toBe(HOSTILE.length));
    // Signs that cannot be seen are written out.
    await page.getByText('safe\\u{202e}gnp.exe').first().waitFor();
    for (const name of HOSTILE) {
      await page
        .locator('.row a', { has: page.locator('.name') })
        .nth(HOSTILE.indexOf(name))
        .click();
      await page.locator('main.lock .holds').waitFor();
      await page.goBack();
      await page.locator('.row').first().waitFor();
    }
    await page.evaluate(() => {
      location.hash = '#/alerts';
    });
    await eventually(async () => expect(await page.locator('.card.alert').count()).toBe(HOSTILE.length));
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(
      0,
    );
  });
}
