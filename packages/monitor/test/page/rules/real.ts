/** The page against the real monitor, a real server, and locks of real processes. */
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { type Child, startChild } from '../../../../holdfast/test/support/processes/child.ts';
import { startRedis } from '../../../../holdfast/test/support/servers/redis-server.ts';
import { createMonitor, createMonitorServer } from '../../../src/index.ts';
import { isLong } from '../../support/long.ts';
import { client, closing } from '../../support/monitor.ts';
import type { OwnerLine, OwnerTask } from '../children/owner.ts';
import type { Bench } from '../support/bench.ts';
import { eventually } from '../support/eventually.ts';

const OWNER = resolve(import.meta.dirname, '../children/owner.ts');
const LOGIN = { user: 'ann', password: 'a-secret-of-ann' };

function startOwner(task: OwnerTask): Child<OwnerLine> {
  return startChild<OwnerLine>(OWNER, [JSON.stringify(task)]);
}

async function startServer(): Promise<number> {
  const redis = await startRedis();
  closing({ close: () => redis.stop() });
  return redis.port;
}

/** Starts a monitor of that server. Returns its address. */
async function startMonitor(port: number, pageFolder: string): Promise<string> {
  const options = { redis: client(port), login: LOGIN, actions: true, fleet: 'shop', pageFolder };
  const monitor = closing(createMonitor(options));
  const server = createMonitorServer(monitor);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closing({
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

async function logIn(page: Page): Promise<void> {
  await page.getByLabel('User').fill(LOGIN.user);
  await page.getByLabel('Password or token').fill(LOGIN.password);
  await page.getByRole('button', { name: 'Log in' }).click();
}

export function realRules(bench: Bench): void {
  test.runIf(isLong)(
    'locks of real processes appear, are waited for, lost, taken away and released before the eyes',
    async () => {
      const port = await startServer();
      const doomed = startOwner({
        port,
        application: 'billing',
        name: 'order:1',
        leaseMs: 6_000,
        isStubborn: true,
      });
      const tidy = startOwner({ port, application: 'reports', name: 'cron:night', leaseMs: 30_000 });
      // Before the monitor walks over the keys for the first time: its next walk begins ten seconds later.
      await Promise.all([doomed, tidy].map((owner) => owner.next(({ held }) => held === true)));
      const url = await startMonitor(port, bench.pageFolder);
      const page = await bench.openAt(url);
      await logIn(page);
      const row = (name: string) => page.locator('.row', { has: page.locator(`[data-lock="${name}"]`) });
      await row('order:1').getByText('billing').waitFor();
      const heir = startOwner({ port, application: 'mailer', name: 'order:1', leaseMs: 30_000 });
      await row('order:1')
        .getByText(/^1, first/)
        .waitFor();

      await doomed.kill('SIGKILL');
      await heir.next(({ held }) => held === true);
      await row('order:1').getByText('mailer').waitFor();
      await row('order:1').click();
      const past = page.locator('.holds li', { hasText: 'billing' });
      // On a machine that stalls the monitor may not have looked when the lease ended, and says that.
      await eventually(async () => expect(await past.innerText()).toMatch(/expired|ran out|end not known/));

      await page.getByRole('button', { name: 'Take away…' }).click();
      const dialog = page.getByRole('dialog');
      expect(await dialog.locator('.owner-now').innerText()).toMatch(new RegExp(`^mailer .*${heir.pid}$`));
      await dialog.getByLabel('Why?').fill('mailer hangs');
      await dialog.getByLabel('Type the name').fill('order:1');
      await dialog.getByRole('button', { name: 'Take away' }).click();
      await dialog.waitFor({ state: 'detached' });
      expect((await heir.next(({ lost }) => lost !== undefined)).lost).toContain('mailer hangs');
      await page.getByText('Nobody holds it').waitFor();

      await page.keyboard.press('g');
      await page.keyboard.press('u');
      await eventually(async () => {
        const words = await page.locator('.trail').innerText();
        return /ann/.test(words) && /order:1/.test(words) && /mailer hangs/.test(words);
      });

      await page.keyboard.press('g');
      await page.keyboard.press('l');
      await row('cron:night').getByText('reports').waitFor();
      // Away from the rows: while the pointer or the focus is there, one that has gone stays in its place.
      await page.keyboard.press('Escape');
      await page.mouse.move(5, 5);
      tidy.send('release');
      await row('cron:night').waitFor({ state: 'detached' });
      await Promise.all([tidy.exited, heir.kill()]);

      await page.keyboard.press('g');
      await page.keyboard.press('s');
      await page.getByRole('heading', { name: `127.0.0.1:${port}` }).waitFor();
      await page.getByText('up', { exact: true }).first().waitFor();
    },
  );
}
