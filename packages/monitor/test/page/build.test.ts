/** The page as the package has it: what is in the files, and how large they are. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PageManifest } from '../../src/api/page-files.ts';
import { builtPage } from './support/browser.ts';

/** What a browser fetches before it shows anything. Plots come with the page that has them. */
const FIRST_BYTES_MAX = 40 * 1024;
const PARTS_BYTES_MAX = 30 * 1024;

let page: ReturnType<typeof builtPage>;
let manifest: PageManifest;
let html: string;

beforeAll(() => {
  page = builtPage();
  manifest = JSON.parse(read('manifest.json')) as PageManifest;
  html = read('index.html');
});

afterAll(() => page.remove());

function read(name: string): string {
  return readFileSync(join(page.folder, name), 'utf8');
}

function gzipped(names: readonly string[]): number {
  return names.reduce((sum, name) => sum + gzipSync(read(name)).length, 0);
}

test('the manifest lists every file to serve, and all but the page have a hash in their names', () => {
  const notServed = ['manifest.json', 'licences.txt'];
  expect([...manifest.files, ...notServed].sort()).toEqual(readdirSync(page.folder).sort());
  expect(manifest.version).toMatch(/^[0-9a-f]{16}$/);
  for (const name of manifest.files.filter((file) => file !== 'index.html')) {
    expect(name).toMatch(/^(app|part)\.[A-Z0-9]{8}\.(js|css)$/);
  }
});

test('the page has no script and no style of its own, and names files beside it only', () => {
  expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=/i);
  const addresses = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address = '']) => address);
  const files = addresses.filter((address) => address.startsWith('./')).map((address) => address.slice(2));
  expect(addresses.filter((address) => !address.startsWith('./'))).toEqual(['data:,']);
  expect(manifest.files).toEqual(expect.arrayContaining(files));
});

test('no file knows an address elsewhere, nor makes markup from text', () => {
  for (const name of manifest.files) {
    const text = read(name);
    // The names of the XML languages are never fetched.
    expect(
      text.match(/https?:\/\/[^"'`\s)]+/g)?.filter((url) => !url.startsWith('http://www.w3.org/')) ?? [],
    ).toEqual([]);
    expect(text).not.toMatch(/insertAdjacentHTML|document\.write|\beval\(|new Function/);
  }
});

test(`the first page is at most ${FIRST_BYTES_MAX} bytes of script, and the plots ${PARTS_BYTES_MAX} more`, () => {
  const scripts = manifest.files.filter((name) => name.endsWith('.js'));
  expect(gzipped(scripts.filter((name) => name.startsWith('app.')))).toBeLessThan(FIRST_BYTES_MAX);
  expect(gzipped(scripts.filter((name) => name.startsWith('part.')))).toBeLessThan(PARTS_BYTES_MAX);
});

test('the licences of what is bundled are passed on', () => {
  const text = read('licences.txt');
  for (const name of ['preact', '@preact/signals', 'uplot']) expect(text).toContain(`${name}\n\n`);
});
