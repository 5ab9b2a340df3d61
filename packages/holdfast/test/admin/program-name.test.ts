/** What a program is called that has not said so: its package, or else its script. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { programName } from '../../src/admin/program-name.ts';

/** A folder with these files in it, until the end of the test. */
function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-name-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

const BILLING = JSON.stringify({ name: '@shop/billing' });

test('a script has the name of the nearest package above it', () => {
  const folder = folderWith({
    'package.json': BILLING,
    'apps/mailer/package.json': JSON.stringify({ name: 'mailer' }),
  });
  expect(programName(join(folder, 'src/main.ts'))).toBe('@shop/billing');
  expect(programName(join(folder, 'apps/mailer/dist/main.js'))).toBe('mailer');
});

test.each([
  ['says no name', '{"type": "module"}'],
  ['has an empty name', '{"name": ""}'],
  ['has a name that is no string', '{"name": 7}'],
  ['has a name longer than a record takes', JSON.stringify({ name: 'x'.repeat(1025) })],
  ['is no object', 'null'],
  ['is no JSON', '{'],
])('a package.json that %s is passed over', (_what, text) => {
  const folder = folderWith({ 'package.json': BILLING, 'dist/package.json': text });
  expect(programName(join(folder, 'dist/main.js'))).toBe('@shop/billing');
});

test('a script that was installed stands for the package that installed it', () => {
  const folder = folderWith({
    'package.json': BILLING,
    'node_modules/next/package.json': JSON.stringify({ name: 'next' }),
  });
  expect(programName(join(folder, 'node_modules/next/dist/bin/next'))).toBe('@shop/billing');
  expect(programName(join(folder, 'node_modules/.bin/next'))).toBe('@shop/billing');
});

test('without a package it is the name of the script, and without a script that of the runtime', () => {
  const folder = folderWith({ 'package.json/is-a-folder': '' });
  expect(programName(join(folder, 'nightly.mjs'))).toBe('nightly.mjs');
  expect(programName('')).toBe(basename(process.execPath));
});

test('the program of these tests has the name of this package', () => {
  expect(programName()).toBe('holdfast-workspace');
});
