/** Every state of the page that is not the usual one. */
import { expect, test } from 'vitest';
import { isLong } from '../../support/long.ts';
import { type Bench, namesShown } from '../support/bench.ts';
import { eventually } from '../support/eventually.ts';
import { makeAlert, makeCard, makeRow } from '../support/scripted.ts';

export function stateRules(bench: Bench): void {
  test.runIf(isLong)('while the picture is on its way, grey lines stand for it', async () => {
    let answer = (): void => {};
    bench.monitor.gates.set(
      'api/v1/state',
      new Promise((resolve) => {
        answer = resolve;
      }),
    );
    const page = await bench.openAt(bench.monitor.url);
    await page.getByRole('status', { name: 'Loading' }).waitFor();
    answer();
    await page.locator('.row').first().waitFor();
  });

  test('without locks it says how many keys were looked at, and how to take one', async () => {
    const page = await bench.openWith({ locks: [], alerts: [] });
    await page.getByText('Nobody holds a lock').waitFor();
    await page
      .getByText(/Surveyed 20,700 keys \d+ s ago/)
      .first()
      .waitFor();
    await page.getByText('holdfast run try-me').waitFor();
    bench.monitor.change([makeRow('first')]);
    await eventually(async () => expect(await namesShown(page)).toEqual(['first']));
  });

  test('disconnected: it says so, ages run on, bars are grey, and it comes back by itself', async () => {
    const page = await bench.open();
    bench.monitor.down();
    await page.getByText('Connection to the monitor lost').waitFor();
    await page.locator('.rows.stale').waitFor();
    const age = await page.locator('.link-state').innerText();
    await eventually(async () => expect(await page.locator('.link-state').innerText()).not.toBe(age));
    bench.monitor.up();
    await page.locator('.link-state.is-live').waitFor();
    expect(await page.locator('.rows.stale').count()).toBe(0);
  });

  test('Redis away: the last picture stays, with its time', async () => {
    const { monitor } = bench;
    const page = await bench.open();
    monitor.isLooking = false;
    monitor.state = { ...monitor.state, totals: { ...monitor.state.totals, lookedAt: Date.now() - 6_000 } };
    const away = makeCard('redis-2:6379', { health: 'down', trouble: 'connect ECONNREFUSED' });
    monitor.state = { ...monitor.state, servers: [makeCard('redis-1:6379'), away] };
    await page.getByText('redis-2:6379 does not answer').waitFor();
    await page.getByText(/Locks as of \d\d:\d\d:\d\d/).waitFor();
    await page.locator('.rows.stale').waitFor();
    expect(await page.locator('.row').count()).toBeGreaterThan(5);
    await page.keyboard.press('g');
    await page.keyboard.press('s');
    await page.locator('.card.trouble').getByText('connect ECONNREFUSED').waitFor();
  });

  test.runIf(isLong)('a right that the Redis user lacks is shown as the ACL line that gives it', async () => {
    const aclLine = 'ACL SETUSER monitor +config|get';
    const page = await bench.openWith({
      forbidden: [{ server: 'redis-1:6379', what: 'CONFIG GET', aclLine }],
    });
    await page.getByText("The monitor's Redis user lacks a right").click();
    await page.getByText(aclLine).waitFor();
  });

  test.runIf(isLong)('that there are more locks than are shown is said on every page', async () => {
    const survey = { passedAt: Date.now(), keys: 131_072, tookMs: 26_000, keysNow: 0, leftOut: 31_072 };
    const page = await bench.openWith({ survey });
    for (const key of ['l', 's', 'a']) {
      await page.keyboard.press('g');
      await page.keyboard.press(key);
      await page.getByText('Not all locks are shown').waitFor();
      await page.getByText('about 31,072').waitFor();
    }
  });

  test('an error is shown with its code and words, and can be tried again', async () => {
    const { monitor } = bench;
    monitor.refusals.set('api/v1/state', {
      status: 500,
      code: 'internal',
      message: 'the sampler has stopped',
    });
    const page = await bench.openAt(monitor.url);
    await page.getByText('the sampler has stopped').waitFor();
    await page.getByText('internal (HTTP 500)').waitFor();
    monitor.refusals.clear();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('.row').first().waitFor();
  });

  test('a page that is put off because so many are open says so calmly, and comes by itself', async () => {
    const { monitor } = bench;
    const refusal = { status: 429, code: 'too-many-reads', message: 'try again', retryAfter: 1 } as const;
    const past = [makeAlert({ incident: 'past.1', rule: 'evicting', state: 'resolved' })];
    monitor.alertPage = { active: [], past, silences: [], next: null };
    for (const [name, shown] of [
      ['audit', '.trail tbody tr'],
      ['alerts', '.past li'],
    ] as const) {
      monitor.refusals.set(`api/v1/${name}`, refusal);
      const page = await bench.open(`#/${name}`);
      await page.getByText('This page follows in a moment').waitFor();
      expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
      monitor.refusals.clear();
      await page.locator(shown).first().waitFor();
      expect(await page.getByText('This page follows in a moment').count()).toBe(0);
    }
  });

  test('a line that was read some time ago says when, and one that was not read says that', async () => {
    const { monitor } = bench;
    const page = await bench.open('#/lock/order%3A1001');
    await page.locator('.line li').first().waitFor();
    expect(await page.getByText('As it was').count()).toBe(0);
    monitor.lineAgeMs = 9_000;
    await page.getByText(/As it was \d+ s ago/).waitFor();
    monitor.lineAgeMs = null;
    await page.getByText('It has not been read yet').waitFor();
  });

  test.runIf(isLong)('who may not look is told so', async () => {
    bench.monitor.refusals.set('api/v1/state', {
      status: 403,
      code: 'forbidden',
      message: 'eve may not see the locks',
    });
    const page = await bench.openAt(bench.monitor.url);
    await page.getByText('You may not look at this').waitFor();
    await page.getByText('eve may not see the locks').waitFor();
  });

  test('a login that is needed is asked for, and a wrong one is told from a right one', async () => {
    const { monitor } = bench;
    monitor.refusals.set('api/v1/state', { status: 401, code: 'login-needed', message: 'log in first' });
    monitor.refusals.set('login', { status: 401, code: 'wrong-login', message: 'the login is wrong' });
    const page = await bench.openAt(monitor.url);
    await page.getByLabel('User').fill('ann');
    await page.getByLabel('Password or token').fill('guess');
    await page.keyboard.press('Enter');
    await page.getByText('the login is wrong').waitFor();
    monitor.refusals.clear();
    await page.getByLabel('Password or token').fill('secret');
    await page.keyboard.press('Enter');
    await page.locator('.row').first().waitFor();
    expect(monitor.posts.at(-1)).toMatchObject({ path: 'login', body: { user: 'ann', password: 'secret' } });
  });

  test('paused: nothing moves until it goes on, and then everything that happened is there', async () => {
    const page = await bench.openWith({ locks: [makeRow('a'), makeRow('b')] });
    await page.locator('.row').first().waitFor();
    await page.keyboard.press('p');
    await page.getByText('Paused at').waitFor();
    bench.monitor.change([makeRow('c')], ['a']);
    await page.getByText('2 locks have changed since').waitFor();
    expect((await namesShown(page)).sort()).toEqual(['a', 'b']);
    await page.keyboard.press('p');
    await eventually(async () => expect((await namesShown(page)).sort()).toEqual(['b', 'c']));
  });
}
