/** `holdfast monitor` and `holdfast audit`, as users start them. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startProgram } from '../../holdfast/test/support/processes/child.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { MAIN } from './support/built-cli.ts';
import { openLocks } from './support/holders.ts';
import { holdfast } from './support/holdfast.ts';
import { readAs } from './support/schema.ts';

const server = useRedis();

interface Started {
  readonly url: string;
}

test('the monitor serves the locks of its server until a signal ends it', async () => {
  const locks = openLocks(server, 'billing');
  await locks.lock('order').acquire({ leaseMs: 600_000 });
  const child = startProgram<Started>([
    process.execPath,
    MAIN,
    'monitor',
    '--redis',
    server.url,
    '--port',
    '0',
    '--json',
  ]);
  const { url } = readAs<Started>('monitor', JSON.stringify(await child.next()));
  const row = await waitFor(async () => {
    const state = (await (await fetch(`${url}api/v1/state`)).json()) as {
      locks: { name: string; app: string | null }[];
    };
    return state.locks.find(({ name, app }) => name === 'order' && app === 'billing');
  });
  expect(row).toMatchObject({ holder: `${locks.session}:1` });
  expect(await (await fetch(url)).text()).toContain('<title>holdfast monitor</title>');
  expect(await (await fetch(`${url}metrics`)).text()).toContain(
    'holdfast_monitor_locks_held{fleet="default"} 1',
  );
  expect(await child.kill('SIGTERM')).toEqual({ code: 0, signal: null });
});

test('a release is in the audit trail, with who and why', async () => {
  const locks = openLocks(server);
  await locks.lock('stuck').acquire({ leaseMs: 600_000 });
  const flags = ['--redis', server.url];
  const released = await holdfast([
    'release',
    'stuck',
    '--force',
    '--yes',
    '--reason',
    'stuck since noon',
    ...flags,
  ]);
  expect(released).toMatchObject({ code: 0, stderr: '' });
  const { stdout } = await holdfast(['audit', '--json', '--lock', 'stuck', ...flags]);
  expect(readAs('audit', stdout)).toMatchObject({
    entries: [
      {
        action: 'release',
        subject: 'stuck',
        holder: `${locks.session}:1`,
        via: 'cli',
        reason: 'stuck since noon',
        result: `released from ${locks.session}:1`,
      },
    ],
  });
  const table = await holdfast(['audit', ...flags]);
  expect(table.stdout).toMatch(/^WHEN .*WHO .*DID .*WHAT .*WHY/);
  expect(table.stdout).toContain('stuck since noon');
});

test.each([
  [['--host', '0.0.0.0'], /--host 0\.0\.0\.0: expected a login with it/],
  [['--actions'], /--actions: expected a login with it/],
  [['--user', 'ops'], /--user: expected --password-file or HOLDFAST_MONITOR_PASSWORD/],
  [['--password-file', '/nowhere'], /--password-file: expected --user with it/],
  [['--token-file', '/nowhere/token'], /--token-file: expected a file that can be read, got ENOENT/],
  [['--check-config'], /--check-config: expected --config with it/],
  [['--config', '/nowhere.json', '--check-config'], /expected \/nowhere\.json to be a file that can be read/],
])('%j is refused before anything is served', async (words, message) => {
  const { code, stderr } = await holdfast(['monitor', '--redis', server.url, '--port', '0', ...words]);
  expect(code).toBe(64);
  expect(stderr).toMatch(message);
});

test('a configuration is checked by its line, and the rules for Prometheus are printed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-monitor-'));
  const good = join(folder, 'good.json');
  const bad = join(folder, 'bad.json');
  writeFileSync(good, '{ "fleet": "shop" } // fine');
  writeFileSync(bad, '{\n  "fleet": "shop",\n  "rulez": {}\n}');
  expect(await holdfast(['monitor', '--config', good, '--check-config'])).toMatchObject({ code: 0 });
  const refused = await holdfast(['monitor', '--config', bad, '--check-config']);
  expect(refused.code).toBe(64);
  expect(refused.stderr).toMatch(/bad\.json: .*3.*rulez/);
  const rules = await holdfast(['monitor', '--prometheus-rules']);
  expect(rules.stdout).toContain('groups:');
});
