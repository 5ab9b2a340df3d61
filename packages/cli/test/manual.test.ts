/** What is written about the command line is what it has. */
import { type StdioOptions, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { mayLack } from '../../holdfast/test/support/needs.ts';
import { completion } from '../src/completion.ts';
import { buildProgram } from '../src/program.ts';
import { MAIN, ROOT } from './support/built-cli.ts';
import { environmentFor, holdfast } from './support/holdfast.ts';
import { useTraces } from './support/job.ts';
import { manualPage } from './support/manual.ts';

test('the page of the command line is what its grammar says', async () => {
  await expect(manualPage()).toMatchFileSnapshot(join(ROOT, 'docs/operate/cli.md'));
});

const traces = useTraces()();

/** Tells at the end what time of a core a process has taken. */
const PROBE = `process.on('exit', () => {
  const { user, system } = process.cpuUsage();
  require('node:fs').writeSync(3, String(user + system));
});`;
const ROUNDS_MIN = 3;
const ROUNDS_MAX = 30;

describe('help', () => {
  test('names every command, and each command its options', async () => {
    const program = buildProgram('0.0.0');
    const { code, stdout, stderr } = await holdfast(['--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const command of program.commands)
      expect(stdout).toMatch(new RegExp(`^ {2}${command.name()} .*`, 'm'));
    for (const command of program.commands) {
      const help = command.helpInformation();
      for (const { flags } of command.options) expect(help).toContain(flags);
    }
    const run = await holdfast(['help', 'run']);
    expect(run.stdout).toBe(program.commands.find((command) => command.name() === 'run')?.helpInformation());
  });

  test('alone is no command line', async () => {
    expect(await holdfast([])).toMatchObject({ code: 64, stdout: '' });
    expect((await holdfast(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test('is there in less than twice the time of Node itself', () => {
    // Of a core, and not by the clock: what else runs on the machine takes the one and not the other.
    const probe = traces.path('probe.cjs');
    writeFileSync(probe, PROBE);
    const timeUs = (args: readonly string[]): number => {
      const stdio: StdioOptions = ['ignore', 'ignore', 'ignore', 'pipe'];
      const options = { env: environmentFor(), stdio, encoding: 'utf8' } as const;
      return Number(spawnSync(process.execPath, ['--require', probe, ...args], options).output[3]);
    };
    // In turns, and the best of each.
    let helpUs = Number.POSITIVE_INFINITY;
    let nodeUs = Number.POSITIVE_INFINITY;
    for (let round = 0; round < ROUNDS_MAX && (round < ROUNDS_MIN || helpUs >= 2 * nodeUs); round += 1) {
      helpUs = Math.min(helpUs, timeUs([MAIN, '--help']));
      nodeUs = Math.min(nodeUs, timeUs(['-e', '0']));
    }
    expect(nodeUs).toBeGreaterThan(0);
    expect(helpUs / nodeUs).toBeLessThan(2);
  });
});

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
    if (mayLack(shell, read.error === undefined, 'its own look at the script that completes its words'))
      expect(read).toMatchObject({ status: 0, stderr: '' });
  });
});
