/** `holdfast monitor` and `holdfast audit`, as users start them. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startProgram } from '../../holdfast/test/support/processes/child.ts';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { startRedis, useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
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
  [['--writer', 'acts:pass@h:1'], /--writer: expected a URL such as redis:/],
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
  const other = await holdfast(['monitor', '--config', good, '--check-config', '--fleet', 'depot']);
  expect(other.code).toBe(64);
  expect(other.stderr).toMatch(/--fleet depot: expected the fleet of .*good\.json, shop/);
  const rules = await holdfast(['monitor', '--prometheus-rules']);
  expect(rules.stdout).toContain('groups:');
});

/** A message of an alert, on standard output. */
interface Told {
  readonly kind: string;
  readonly rule: string;
  readonly alerts: readonly { readonly summary: string }[];
}

interface Reloading {
  readonly url: string;
  readonly file: string;
  readonly child: ReturnType<typeof startProgram<Started & Partial<Told>>>;
  /** Writes the file, sends SIGHUP, and waits for what the monitor says of it. */
  reload(text: string, said: RegExp): Promise<void>;
}

/** A monitor with a configuration file, and with a Redis of its own: its trail is that of this test alone. */
async function startReloading(
  url: string,
  words: readonly string[],
  config = '{ "fleet": "shop" }',
): Promise<Reloading> {
  const file = join(mkdtempSync(join(tmpdir(), 'holdfast-reload-')), 'monitor.json');
  writeFileSync(file, config);
  const child = startProgram<Started & Partial<Told>>([
    ...[process.execPath, MAIN, 'monitor', '--redis', url, '--port', '0', '--json', '--config', file],
    ...words,
  ]);
  onTestFinished(async () => void (await child.kill('SIGKILL')));
  const { url: page } = await child.next();
  const reload = async (text: string, said: RegExp): Promise<void> => {
    writeFileSync(file, text);
    process.kill(child.pid, 'SIGHUP');
    await waitFor(() => said.test(child.stderr), { what: `${said} on standard error`, limitMs: 60_000 });
  };
  return { url: page, file, child, reload };
}

test('SIGHUP reads a changed file, refuses a wrong one, and is in the trail before it is done', async () => {
  const own = await startRedis();
  const { url, file, child, reload } = await startReloading(own.url, []);
  const locksHeld = async (): Promise<string[]> =>
    (await (await fetch(`${url}metrics`)).text()).match(/(?<=_locks_held\{fleet="shop").*(?=\})/g) ?? [];
  expect(await locksHeld()).toEqual(['']);
  await reload('{ "fleet": "shop", "groups": ["order:*"] }', /monitor\.json: in force/);
  expect(await locksHeld()).toEqual([',group="order:*"', ',group="_other_"']);
  await reload('{ "rulez": {} }', /monitor\.json: refused, the old one stays: line 1, .*rulez/);
  const trail = (): Promise<readonly { subject: string; via: string; result: string | null }[]> =>
    holdfast(['audit', '--json', '--redis', own.url]).then(
      ({ stdout }) => (JSON.parse(stdout) as { entries: never[] }).entries,
    );
  const entries = await waitFor(
    async () => {
      const found = await trail();
      return found.filter(({ result }) => result !== null).length === 2 ? found : null;
    },
    { what: 'two reloads with their results', limitMs: 60_000 },
  );
  expect(entries.map(({ subject, via }) => [subject, via])).toEqual([
    [file, 'signal'],
    [file, 'signal'],
  ]);
  expect(entries.map(({ result }) => result?.replace(/:.*/, '')).sort()).toEqual(['in force', 'refused']);
  // A trail that cannot be written: nothing is done, and that is said.
  await ask(own.port, ['RENAME', 'holdfast_audit', 'elsewhere']);
  await ask(own.port, ['SET', 'holdfast_audit', 'no stream']);
  await reload('{ "fleet": "shop" }', /monitor\.json: not read, the old one stays: the audit trail/);
  await ask(own.port, ['DEL', 'holdfast_audit']);
  await reload('{ "fleet": "depot" }', /expected the fleet to stay shop/);
  expect(await locksHeld()).toHaveLength(2);
  expect(child.stderr.match(/in force/g)).toHaveLength(1);
});

test('a file that is refused is an alert, until one is taken', async () => {
  const own = await startRedis();
  const good = JSON.stringify({
    fleet: 'shop',
    groupFor: '0s',
    rules: { 'config-refused': { keepFor: '0s' } },
    receivers: { log: { type: 'stdout' } },
  });
  const { child, reload } = await startReloading(own.url, [], good);
  await reload('{ "rulez": {} }', /refused, the old one stays/);
  const told = (kind: string) => child.next((line) => line.kind === kind && line.rule === 'config-refused');
  expect((await told('firing')).alerts?.[0]?.summary).toMatch(/line 1, .*rulez/);
  await reload(good, /in force/);
  await told('resolved');
});

test('--no-audit is said loudly, and leaves no trace of a reload', async () => {
  const own = await startRedis();
  const { child, reload } = await startReloading(own.url, ['--no-audit']);
  const loud = /warning: --no-audit: what is done .* is written down nowhere/;
  await waitFor(() => loud.test(child.stderr), { what: 'the warning', limitMs: 60_000 });
  await reload('{ "fleet": "shop", "memoryLimit": "2GB" }', /monitor\.json: in force/);
  expect(await ask(own.port, ['EXISTS', 'holdfast_audit'])).toBe(0);
});

test('the audit trail is followed as it grows, and begins as far back as was asked', async () => {
  const own = await startRedis();
  const entry = async (id: string, minutesAgo: number): Promise<void> => {
    const at = Date.now() - minutesAgo * 60_000;
    const asked = ['phase', 'asked', 'action', 'release', 'lock', id, 'by', 'ada', 'reason', 'x'];
    await ask(own.port, ['XADD', 'holdfast_audit', `${at}-1`, 'id', id, ...asked]);
    await ask(own.port, ['XADD', 'holdfast_audit', `${at}-2`, 'id', id, 'phase', 'done', 'result', 'gone']);
  };
  await entry('ancient', 120);
  await entry('older', 30);
  const { stdout } = await holdfast(['audit', '--json', '--since', '1h', '--redis', own.url]);
  expect((JSON.parse(stdout) as { entries: { subject: string }[] }).entries).toMatchObject([
    { subject: 'older' },
  ]);
  const words = ['audit', '--follow', '--json', '--since', '1h', '--redis', own.url];
  const child = startProgram<{ subject: string }>([process.execPath, MAIN, ...words]);
  onTestFinished(async () => void (await child.kill('SIGKILL')));
  expect(await child.next()).toMatchObject({ subject: 'older' });
  await entry('newest', 0);
  expect(await child.next()).toMatchObject({ subject: 'newest', result: 'gone' });
  expect(await child.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(child.lines).toHaveLength(2);
});

test('the audit trail is followed on after an outage, which is told; a trail that is none ends it', async () => {
  const own = await startRedis();
  const entry = async (id: string): Promise<void> => {
    const asked = ['phase', 'asked', 'action', 'release', 'lock', id, 'by', 'ada', 'reason', 'x'];
    await ask(own.port, ['XADD', 'holdfast_audit', '*', 'id', id, ...asked]);
    await ask(own.port, ['XADD', 'holdfast_audit', '*', 'id', id, 'phase', 'done', 'result', 'gone']);
  };
  await entry('before');
  const words = ['audit', '--follow', '--json', '--redis', own.url];
  const child = startProgram<{ subject: string }>([process.execPath, MAIN, ...words]);
  onTestFinished(async () => void (await child.kill('SIGKILL')));
  expect(await child.next()).toMatchObject({ subject: 'before' });
  await ask(own.port, ['CLIENT', 'KILL', 'TYPE', 'normal']);
  await waitFor(() => child.stderr.includes('the audit trail cannot be read'), { limitMs: 60_000 });
  await entry('after');
  expect(await child.next()).toMatchObject({ subject: 'after', result: 'gone' });
  expect(child.stderr).not.toMatch(/^\s+at /m);
  await ask(own.port, ['DEL', 'holdfast_audit']);
  await ask(own.port, ['SET', 'holdfast_audit', 'no stream']);
  const ended = await holdfast(['audit', '--redis', own.url]);
  expect(ended).toMatchObject({ code: 65, stdout: '' });
  expect(ended.stderr).toMatch(/^holdfast: the audit trail cannot be read: WRONGTYPE .*\n$/);
});
