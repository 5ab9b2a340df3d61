/** What the reference says about names, numbers and types is what the source has. */
import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CONFIGURATIONS, PLANTED_BUGS } from '../../../../model/configurations.ts';
import * as holdfast from '../../src/index.ts';
import { NAME_BYTES_MAX } from '../../src/keys/name.ts';
import { BATCH_MAX } from '../../src/locking/renewal.ts';
import { WAITERS_MAX } from '../../src/locking/waiting/waiter.ts';
import * as options from '../../src/options/options.ts';
import * as generated from '../../src/scripts/generated.ts';
import { LATE_RELEASES_MAX } from '../../src/topologies/server/holders.ts';
import { CLUSTER, LEAST, LOOKING } from '../support/servers/acl-rules.ts';
import { listBrokenLinks } from './links.ts';
import { ROOT, readPage } from './pages.ts';
import { scriptsPage } from './scripts-page.ts';

test('the page of the scripts is what their headers say', async () => {
  await expect(scriptsPage()).toMatchFileSnapshot(resolve(ROOT, 'docs/reference/scripts.md'));
});

test('the page of the errors has a section for each code', () => {
  const codes = [...readPage('packages/holdfast/src/errors.ts').matchAll(/^ {2}\| '(E\w+)'/gm)].map(
    ([, code]) => code,
  );
  const sections = [...readPage('docs/reference/errors.md').matchAll(/^## (E\w+)$/gm)].map(
    ([, code]) => code,
  );
  expect(codes.length).toBeGreaterThan(0);
  expect(sections).toEqual(codes);
});

test('the page of the diagnostics has every channel', () => {
  const page = readPage('docs/reference/diagnostics.md');
  for (const [key, name] of Object.entries(holdfast.CHANNELS))
    expect(page).toContain(`| \`${key}\` | \`${name}\` |`);
});

test('the page of the model has every configuration and every planted bug', () => {
  const page = readPage('docs/concepts/model.md');
  for (const { name, model, scope, isLong = false } of CONFIGURATIONS)
    expect(page).toContain(`| ${name} | ${model} | ${scope} | ${isLong ? 'no' : 'yes'} |`);
  for (const { name, model, scope, breaks } of PLANTED_BUGS)
    expect(page).toContain(`| ${name} | ${model} | ${scope} | ${breaks} |`);
});

test('each rule of the model is broken by a planted bug, and is on the page', () => {
  const folder = resolve(ROOT, 'model');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const models = files.filter((file) => file.endsWith('.pml')).map((file) => readPage(`model/${file}`));
  const rules = models.flatMap((text) => [...text.matchAll(/\brequire\((\w+), /g)].map(([, rule]) => rule));
  const named = new Set(rules.filter((rule) => rule !== 'rule'));
  expect(named).toEqual(new Set(PLANTED_BUGS.map(({ breaks }) => breaks)));
  const page = readPage('docs/concepts/model.md');
  for (const rule of named) expect(page).toMatch(new RegExp(`^\\| (\\w+, )?${rule}(, \\w+)? \\|`, 'm'));
});

describe('the page of the options', () => {
  const page = readPage('docs/reference/options.md');
  /** As the page writes numbers: 10 000. */
  const written = (value: number): string => value.toLocaleString('en-GB').replaceAll(',', ' ');
  const DAY_MS = 24 * 60 * 60 * 1000;

  test('has every option', () => {
    const source = readPage('packages/holdfast/src/options/options.ts');
    const lists = [...source.matchAll(/new Set\(\[([^\]]*)\]\)/g)].map(([, list = '']) => list);
    const names = lists.flatMap((list) => [...list.matchAll(/'(\w+)'/g)].map(([, name]) => name));
    expect(names).toContain('callTimeoutMs');
    for (const name of names) expect(page).toMatch(new RegExp(`^\\| .*\`${name}\``, 'm'));
  });

  test('has their defaults and limits', () => {
    expect(options.FENCE_TTL_MS_DEFAULT).toBe(DAY_MS / 24);
    expect(options.LEASE_MS_MAX).toBe(366 * DAY_MS);
    for (const start of [
      `\`leaseMs\` | ${written(options.LEASE_MS_DEFAULT)} | integer, ${options.LEASE_MS_MIN} to 366 days`,
      `\`callTimeoutMs\` | ${written(options.CALL_TIMEOUT_MS_DEFAULT)} |`,
      `\`handovers\` | ${written(options.HANDOVERS_DEFAULT)} | integer, 0 to ${written(options.HANDOVERS_MAX)} |`,
      `\`handoverMs\` | ${written(options.HANDOVER_MS_DEFAULT)} |`,
      '`fenceTtlMs` | one hour |',
      `\`outageMs\` | ${written(options.OUTAGE_MS_DEFAULT)} |`,
    ]) {
      expect(page).toContain(`| ${start}`);
    }
  });

  test('has the limits that are no options', () => {
    for (const row of [
      `| leases in one call of renewals | at most ${BATCH_MAX} |`,
      `| callers of one process that wait for one name | at most ${written(WAITERS_MAX)} |`,
      `| clean-ups that are open at once | at most ${written(LATE_RELEASES_MAX)};`,
      `| a name | at most ${written(NAME_BYTES_MAX)} bytes of UTF-8 |`,
    ]) {
      expect(page).toContain(row);
    }
  });
});

describe('the lists of the ACL', () => {
  const commandsOf = (text: string): string[] =>
    [...text.matchAll(/redis\.p?call\('(\w+)'(?:, '(NUMSUB|SHARDNUMSUB)')?/g)].map(([, command = '', verb]) =>
      [command, verb].filter(Boolean).join('|').toLowerCase(),
    );
  const scripts = Object.values(generated).map(({ text }) => text);
  const commandsIn = (isAdmin: boolean): string[] =>
    scripts
      .filter(({ name }) => name.startsWith('admin.') === isAdmin)
      .flatMap(({ source, bundle }) => commandsOf(bundle?.source ?? source));
  const granted = [LEAST, LOOKING, CLUSTER].map((list) =>
    [...list.matchAll(/\+(\S+)/g)].map(([, command = '']) => command).sort(),
  );

  test('have the commands of the scripts, and no others', () => {
    // Those that only a cluster is sent have a list of their own.
    const ofShards = ['spublish', 'pubsub|shardnumsub'];
    // For the words of an error only: a user that may not does without.
    const forWords = ['type'];
    const inScripts = commandsIn(false).filter((command) => ![...ofShards, ...forWords].includes(command));
    const inClient = ['eval', 'evalsha', 'subscribe', 'unsubscribe'];
    const least = [...new Set([...inScripts, ...inClient])].sort();
    const more = [...new Set(commandsIn(true))].filter(
      (command) => ![...least, ...ofShards].includes(command),
    );
    const inCluster = [...ofShards, 'asking', 'cluster|slots', 'ssubscribe', 'sunsubscribe'];
    expect(granted).toEqual([least, more.sort(), inCluster.sort()]);
  });
});

test('every link to a file or a heading leads somewhere', () => {
  expect(listBrokenLinks()).toEqual([]);
});
