/** What the reference says about names, numbers and types is what the source has. */
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import * as holdfast from '../../src/index.ts';
import { listBrokenLinks } from './links.ts';
import { listFiles, readPage, ROOT } from './pages.ts';
import { listScripts, readScript, scriptsPage } from './scripts-page.ts';

test('the page of the scripts is what their headers say', async () => {
  await expect(scriptsPage()).toMatchFileSnapshot(resolve(ROOT, 'docs/reference/scripts.md'));
});

test('the page of the errors has a section for each code', () => {
  const codes = [...readPage('packages/holdfast/src/errors.ts').matchAll(/^ {2}\| '(E\w+)'/gm)].map(([, code]) => code);
  const sections = [...readPage('docs/reference/errors.md').matchAll(/^## (E\w+)$/gm)].map(([, code]) => code);
  expect(codes.length).toBeGreaterThan(0);
  expect(sections).toEqual(codes);
});

test('the page of the diagnostics has every channel', () => {
  const page = readPage('docs/reference/diagnostics.md');
  for (const [key, name] of Object.entries(holdfast.CHANNELS)) expect(page).toContain(`| \`${key}\` | \`${name}\` |`);
});

test('the page of the options has every option', () => {
  const source = readPage('packages/holdfast/src/core/options.ts');
  const page = readPage('docs/reference/options.md');
  const lists = [...source.matchAll(/new Set\(\[([^\]]*)\]\)/g)].map(([, list = '']) => list);
  const options = lists.flatMap((list) => [...list.matchAll(/'(\w+)'/g)].map(([, option]) => option));
  expect(options).toContain('shareConnection');
  for (const option of options) expect(page).toMatch(new RegExp(`^\\| .*\`${option}\``, 'm'));
});

describe('the lists of the ACL', () => {
  const commandsOf = (text: string): string[] =>
    [...text.matchAll(/redis\.p?call\('(\w+)'(?:, '(NUMSUB)')?/g)].map(([, command = '', verb]) =>
      [command, verb].filter(Boolean).join('|').toLowerCase(),
    );
  const include = listFiles('packages/holdfast/lua/include', '.lua').map(readPage).join('\n');
  const scripts = listScripts();
  const granted = [...readPage('docs/reference/keys.md').matchAll(/^(?:[~+].*\n|&.*\n)+/gm)].map(([block]) =>
    [...block.matchAll(/\+(\S+)/g)].map(([, command = '']) => command).sort(),
  );

  test('have the commands of the scripts, and no others', () => {
    const own = scripts.filter((file) => !file.startsWith('admin/')).map(readScript);
    const inScripts = commandsOf([include, ...own].join('\n'));
    const inClient = ['eval', 'evalsha', 'subscribe', 'unsubscribe'];
    const least = [...new Set([...inScripts, ...inClient])].sort();
    const admin = scripts.filter((file) => file.startsWith('admin/')).map(readScript);
    const more = [...new Set(commandsOf(admin.join('\n')))].filter((command) => !least.includes(command));
    expect(granted).toEqual([least, more.sort()]);
  });
});

test('every link to a file or a heading leads somewhere', () => {
  expect(listBrokenLinks()).toEqual([]);
});
