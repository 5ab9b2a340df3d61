/** The command that runs test files again and again beside load: what it tells, and what it leaves behind. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { guardProcess } from '../support/processes/process-guard.ts';
import { waitFor } from '../support/wait-for.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
/** Each run starts a Vitest of its own. */
const LIMIT_MS = 120_000;
vi.setConfig({ testTimeout: LIMIT_MS, hookTimeout: LIMIT_MS });

/** Fails every other time: the runs that were are counted in a file. */
const unsteady = (runs: string): string => `
import { appendFileSync, readFileSync } from 'node:fs';
describe('a coin', () => {
  it('shows heads', () => {
    appendFileSync('${runs}', '.');
    expect(readFileSync('${runs}', 'utf8').length % 2).toBe(1);
  });
  it('is a coin', () => {});
});
`;
const GOOD = `it('is good', () => {});`;
const ENDLESS = `it('goes on', () => new Promise((resolve) => setTimeout(resolve, 60_000)), 90_000);`;

let folder: string;
let started: ChildProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-repeat-'));
  writeFileSync(
    join(folder, 'vitest.config.mjs'),
    'export default { test: { globals: true, include: ["*.mjs"] } };',
  );
});
afterEach(async () => {
  for (const child of started) child.kill('SIGKILL');
  started = [];
  rmSync(folder, { recursive: true });
});

interface Repeating {
  readonly child: ChildProcess;
  readonly said: () => string;
  readonly ended: Promise<number | null>;
}

function repeat(...args: string[]): Repeating {
  const script = join(ROOT, 'scripts/test/repeat.mjs');
  const child = spawn(process.execPath, [script, ...args, '--root', folder], { stdio: 'pipe' });
  guardProcess(child);
  started.push(child);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  }
  return { child, said: () => said, ended: once(child, 'close').then(([code]) => code as number | null) };
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The processes that spin, by what it says first. */
async function spinners({ said }: Repeating): Promise<number[]> {
  const line = await waitFor(() => /that spin: ([\d ]+)\n/.exec(said())?.[1], { limitMs: LIMIT_MS });
  return line.split(' ').map(Number);
}

test('each run has a line, each file says how often it failed and by which title, and any failure is the exit code', async () => {
  writeFileSync(join(folder, 'coin.mjs'), unsteady(join(folder, 'runs')));
  writeFileSync(join(folder, 'good.mjs'), GOOD);
  const run = repeat('--idle', '3', 'coin', 'good');
  expect(await run.ended, run.said()).toBe(1);
  expect(readFileSync(join(folder, 'runs'), 'utf8')).toBe('...');
  const said = run.said();
  expect(said).toMatch(/^run 1 of 3: 3 passed in [\d.]+ s, ok$/m);
  expect(said).toMatch(/^run 2 of 3: 2 passed in [\d.]+ s, FAILED a coin shows heads$/m);
  expect(said).toMatch(/^run 3 of 3: 3 passed in [\d.]+ s, ok$/m);
  expect(said).toMatch(/coin\.mjs: failed 1 of 3\n {2}1x a coin shows heads\n/);
  expect(said).toMatch(/good\.mjs: failed 0 of 3\n/);
  expect(said).not.toContain('that spin');
  const log = /what the failed runs said: (.*)<number>\.log/.exec(said)?.[1] ?? '';
  expect(readFileSync(`${log}2.log`, 'utf8')).toContain('expected +0 to be 1');
  rmSync(resolve(log, '..'), { recursive: true });
});

test('a file that cannot be loaded is a failure, and so is a name that no file has', async () => {
  writeFileSync(join(folder, 'broken.mjs'), `throw new Error('no test is reached');`);
  const broken = repeat('--idle', '1', 'broken');
  expect(await broken.ended).toBe(1);
  expect(broken.said()).toMatch(/broken\.mjs: failed 1 of 1\n {2}1x .*no test is reached/);
  const nobody = repeat('--idle', '1', 'nobody');
  expect(await nobody.ended).toBe(1);
  expect(nobody.said()).toContain('outside of any file: failed 1 of 1');
});

test('two processes spin beside the runs, and end with the last of them', async () => {
  writeFileSync(join(folder, 'good.mjs'), GOOD);
  const run = repeat('1', 'good');
  const pids = await spinners(run);
  expect(pids).toHaveLength(2);
  expect(pids.filter(isRunning)).toEqual(pids);
  expect(await run.ended, run.said()).toBe(0);
  await waitFor(() => !pids.some(isRunning), { what: 'the spinning processes to end' });
});

test.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)('they end when it is ended by %s', async (signal) => {
  // Vitest itself is not asked by SIGKILL, and comes to its own end.
  writeFileSync(join(folder, 'long.mjs'), signal === 'SIGKILL' ? GOOD : ENDLESS);
  const run = repeat('5', 'long');
  const pids = await spinners(run);
  run.child.kill(signal);
  const code = await run.ended;
  if (signal !== 'SIGKILL')
    expect([code, run.said()]).toEqual([130, expect.stringContaining('interrupted after 0 of 5')]);
  await waitFor(() => !pids.some(isRunning), { limitMs: 30_000, what: 'the spinning processes to end' });
});

test.each([[[]], [['50']], [['0', 'good']], [['many', 'good']]])(
  '%j is answered with how it is called',
  async (args) => {
    const child = spawn(process.execPath, [join(ROOT, 'scripts/test/repeat.mjs'), ...args], {
      stdio: 'pipe',
    });
    started.push(child);
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const [code] = await once(child, 'close');
    expect([code, said]).toEqual([2, expect.stringContaining('usage: npm run test:repeat')]);
  },
);
