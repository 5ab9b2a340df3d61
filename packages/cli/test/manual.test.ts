/** What is written about the command line is what it has. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { completion } from '../src/completion.ts';
import { buildProgram } from '../src/program.ts';
import { MAIN, ROOT } from './support/built-cli.ts';
import { environmentFor, holdfast } from './support/holdfast.ts';
import { useTraces } from './support/job.ts';
import { manualPage } from './support/manual.ts';

test('the page of the command line is what its grammar says', async () => {
  await expect(manualPage()).toMatchFileSnapshot(join(ROOT, 'docs/operate/cli.md'));
});

const ROUNDS_MIN = 3;
const ROUNDS_MAX = 30;

describe('help', () => {
  test('names every command, and each command its options', async () => {
    const program = buildProgram('0.0.0');
    const { code, stdout, stderr } = await holdfast(['--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const command of program.commands)
      expect(stdout).toMatch(new RegExp(`^ {2}${command.name()} .*`, 'm'));
    const run = await holdfast(['help', 'run']);
    for (const { flags } of program.commands[0]?.options ?? []) expect(run.stdout).toContain(flags);
  });

  test('alone is no command line', async () => {
    expect(await holdfast([])).toMatchObject({ code: 64, stdout: '' });
    expect((await holdfast(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test('is there in less than twice the time of Node itself', () => {
    const time = (args: readonly string[]): number => {
      const startedMs = performance.now();
      spawnSync(process.execPath, args, { env: environmentFor() });
      return performance.now() - startedMs;
    };
    // In turns, and the best of each: what else runs on the machine strikes both alike.
    let helpMs = Number.POSITIVE_INFINITY;
    let nodeMs = Number.POSITIVE_INFINITY;
    for (let round = 0; round < ROUNDS_MAX && (round < ROUNDS_MIN || helpMs >= 2 * nodeMs); round += 1) {
      helpMs = Math.min(helpMs, time([MAIN, '--help']));
      nodeMs = Math.min(nodeMs, time(['-e', '0']));
    }
    expect(helpMs / nodeMs).toBeLessThan(2);
  });
});

const traces = useTraces()();

describe('completion', () => {
  const program = buildProgram('0.0.0');
  const complete = (...words: readonly string[]): string[] => {
    const script = `${completion(program, 'bash')}
      COMP_WORDS=(holdfast ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}
      _holdfast; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
    expect(stderr).toBe('');
    return stdout.split('\n').filter((word) => word !== '');
  };

  test('in bash offers commands, then their options, and nothing after the two dashes', () => {
    expect(complete('')).toEqual(expect.arrayContaining(['run', 'ls', 'doctor', '--help', '--version']));
    expect(complete('in')).toEqual(['inspect']);
    expect(complete('run', '--w')).toEqual(['--wait']);
    expect(complete('ls', '--')).toEqual(expect.arrayContaining(['--json', '--limit', '--redis']));
    expect(complete('completion', 'f')).toEqual(['fish']);
    expect(complete('run', 'job', '--', '--')).toEqual([]);
    expect(complete('run', 'jo')).toEqual([]);
  });

  test.each(['bash', 'zsh', 'fish'] as const)('for %s knows every command and option', async (shell) => {
    const { code, stdout } = await holdfast(['completion', shell]);
    expect(code).toBe(0);
    for (const command of program.commands) {
      expect(stdout).toContain(command.name());
      for (const { long } of command.options) {
        expect(stdout).toContain(shell === 'fish' ? `-l ${long?.replace('--', '')}` : long);
      }
    }
    // Whoever has the shell lets it read the script.
    const file = traces.path(`holdfast.${shell}`);
    writeFileSync(file, stdout);
    const read = spawnSync(shell, [shell === 'fish' ? '--no-execute' : '-n', file], { encoding: 'utf8' });
    if (read.error === undefined) expect(read).toMatchObject({ status: 0, stderr: '' });
  });
});
