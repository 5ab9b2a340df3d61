/** What an alert tells an operator to run is a command that there is. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RULES } from '../../monitor/src/alerts/rules/table.ts';
import { buildProgram } from '../src/program.ts';
import { holdfast } from './support/holdfast.ts';

/** `holdfast`, a command, and then options and placeholders; the first other word is prose again. */
const COMMAND = /\bholdfast ((?!-)[a-z]+(?: (?:--?[a-z][a-z-]*|<[a-z]+>))*)/g;

const named = RULES.flatMap(({ id, why, remedy }) =>
  [...`${why} ${remedy}`.matchAll(COMMAND)].map(([, words = '']) => ({ id, words })),
);

test.each(named)('the remedy of $id names a command that the grammar takes: $words', ({ words }) => {
  const [name, ...rest] = words.split(' ');
  const command = buildProgram('0.0.0').commands.find((one) => one.name() === name);
  expect(command, `the command ${name}`).toBeDefined();
  command?.exitOverride().configureOutput({ writeErr: () => {} });
  const { operands, unknown } = command?.parseOptions(rest) ?? { operands: [], unknown: [] };
  expect(unknown).toEqual([]);
  expect(operands.length).toBeLessThanOrEqual(command?.registeredArguments.length ?? 0);
});

test('the remedy of config-refused checks the file that it names', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'holdfast-remedy-')), 'monitor.jsonc');
  writeFileSync(file, '{\n  "rulez": {}\n}');
  const { words = '' } = named.find(({ id }) => id === 'config-refused') ?? {};
  const { code, stderr } = await holdfast(words.replace('<file>', file).split(' '));
  expect({ code, stderr }).toMatchObject({ code: 64, stderr: expect.stringMatching(/line 2, .*rulez/) });
});
