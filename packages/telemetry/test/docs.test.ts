/** docs/operate/telemetry.md lists the instruments as they are. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { INSTRUMENTS } from '../src/instruments.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/operate/telemetry.md'), 'utf8');

test('every instrument is listed with both of its names and its type, and no other', () => {
  const rows = [...PAGE.matchAll(/^\| `holdfast\.([\w.]+)` \| `(\w+)` \| ([\w-]+)/gm)];
  const told = rows.map(([, name, prometheus, type]) => `${name} ${prometheus} ${type?.replace('-', '')}`);
  const wanted = INSTRUMENTS.map(
    ({ name, suffix, type }) => `${name} holdfast_${name.replaceAll('.', '_')}${suffix} ${type}`,
  );
  expect(told.sort()).toEqual(wanted.sort());
});

test.each([
  ['acquire.duration', 'Acquire'],
  ['hold.duration', 'Hold'],
  ['renewal.margin', 'Margin, as a share'],
  ['job.duration', 'Job'],
  ['job.lateness', 'Lateness'],
])('the buckets of %s are listed', (name, title) => {
  const [text = ''] = /^Buckets, in seconds\. [\s\S]*?\n\n/m.exec(PAGE) ?? [];
  const [, list = ''] = new RegExp(`${title}: ([\\d., \\n]*\\d)`).exec(text) ?? [];
  const { buckets } = INSTRUMENTS.find((one) => one.name === name) ?? {};
  expect(list.split(/,\s*/).map(Number)).toEqual(buckets);
});

test('the buckets of once are those of acquiring, as is said', () => {
  const [acquire, once] = ['acquire.duration', 'once.duration'].map(
    (name) => INSTRUMENTS.find((one) => one.name === name)?.buckets,
  );
  expect(PAGE).toContain('Once: as acquire.');
  expect(once).toEqual(acquire);
});
