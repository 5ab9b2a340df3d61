/** What cannot be had is left out on a person's machine, and is a failure where `CI` is set. */
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { hasTool, mayLack, needs } from '../support/needs.ts';
import { makeGuardedFolder, removeGuardedFolder } from '../support/processes/process-guard.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');

let said: string[];
beforeEach(() => {
  said = [];
  const spy = vi.spyOn(console, 'info').mockImplementation((word: string) => void said.push(word));
  return () => spy.mockRestore();
});
afterEach(() => void vi.unstubAllEnvs());

describe.each(['', '0', 'false'])('with CI=%j', (value) => {
  beforeEach(() => void vi.stubEnv('CI', value));

  test('what is not there is left out, and said once', () => {
    const what = `a moon (${value})`;
    expect([needs(what, false, 'the tide'), needs(what, false, 'the tide')]).toEqual([false, false]);
    expect(said).toEqual([`${what} is not there: the tide is left out`]);
  });

  test('what is there is not spoken of', () => {
    expect(needs('a sun', true, 'the day')).toBe(true);
    expect(said).toEqual([]);
  });
});

describe.each(['true', '1', 'yes'])('with CI=%j', (value) => {
  beforeEach(() => void vi.stubEnv('CI', value));

  test('what is not there is a failure that says what would be left out', () => {
    expect(() => needs('a moon', false, 'the tide')).toThrow(
      'CI is set, and a moon is not there: without it the tide is left out',
    );
    expect(needs('a sun', true, 'the day')).toBe(true);
  });

  test('what is an extra beside a rule that is tested in any case may be lacked', () => {
    expect(mayLack(`a star (${value})`, false, 'a wish')).toBe(false);
    expect(said).toEqual([`a star (${value}) is not there: a wish is left out`]);
  });
});

test('a tool is there when it runs', () => {
  expect(hasTool(process.execPath, '--version')).toBe(true);
  expect(hasTool('no-such-tool-anywhere')).toBe(false);
});

test.each([
  ['true', 1],
  ['', 0],
])('a server that cannot be fetched ends the command with CI=%j by %d', (CI, code) => {
  const folder = makeGuardedFolder('holdfast-servers-');
  const env = { PATH: folder, HOLDFAST_SERVERS: folder, CI };
  const script = join(ROOT, 'scripts/setup/servers.mjs');
  const ran = spawnSync(process.execPath, [script, 'valkey-8.0'], { env, encoding: 'utf8' });
  expect(ran.stdout).toMatch(/^valkey-8\.0: could not be had/);
  expect(ran.status).toBe(code);
  removeGuardedFolder(folder);
});
