/** Signals that come to `holdfast run` go to the command, and an end that was asked for is an end in good order. */
import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { useLeakCheck } from '../../holdfast/test/support/leak-check.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { start } from './support/holdfast.ts';
import { isRunning, useTraces } from './support/job.ts';
import { openTerminal } from './support/terminal.ts';

const redis = useRedis();
useLeakCheck(redis);
const makeTraces = useTraces();

/** Says every signal that it hears, and ends with 3 on SIGHUP. */
const LISTENER = `
  exec 2>/dev/null
  for signal in INT QUIT USR1 USR2 WINCH TERM; do trap "echo $signal" $signal; done
  trap 'echo HUP; exit 3' HUP
  echo on
  while :; do sleep 0.02; done
`;

const startJob = (script: string, options: readonly string[] = [], cwd = '.') =>
  start(['run', '--redis', redis.url, ...options, 'job', '--', 'sh', '-c', script], { cwd });

describe('a signal', () => {
  test('goes to the command, which may go on', async () => {
    const running = startJob(LISTENER);
    await running.says('on');
    for (const signal of ['INT', 'QUIT', 'USR1', 'USR2', 'WINCH'] as const) {
      running.kill(`SIG${signal}`);
      await running.says(`${signal}\n`);
    }
    running.kill('SIGHUP');
    expect(await running.ended).toMatchObject({ code: 3, stderr: '' });
  });

  test('of SIGTERM ends a command that listens, with its own exit code', async () => {
    const running = startJob(
      "exec 2>/dev/null; trap 'echo bye; exit 5' TERM; echo on; while :; do sleep 0.02; done",
    );
    await running.says('on');
    running.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 5, stdout: 'on\nbye\n', stderr: '' });
  });

  test('of SIGTERM ends a command that does not listen, and all it has started, after the grace', async () => {
    const traces = makeTraces();
    const child = "(trap '' TERM; sh -c 'echo $$ >> pids; while :; do sleep 0.05; done') & echo $$ >> pids";
    const script = `trap '' TERM; ${child}; while :; do sleep 0.05; done`;
    const running = startJob(script, ['--grace', '400ms'], traces.folder);
    const pids = await traces.pids('pids', 2);
    const toldMs = performance.now();
    running.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 137, stderr: '' });
    const tookMs = performance.now() - toldMs;
    expect(tookMs).toBeGreaterThan(390);
    // Long before the lease of what was not released would be over.
    expect(tookMs).toBeLessThan(20_000);
    expect(pids.filter(isRunning)).toEqual([]);
  });

  test('of SIGTSTP goes to the command and does not stop us: a stopped holder would lose its lock', async () => {
    const traces = makeTraces();
    const script = "trap 'echo TSTP' TSTP; echo on; until [ -e go ]; do sleep 0.02; done; echo done";
    const running = startJob(script, [], traces.folder);
    await running.says('on');
    running.kill('SIGTSTP');
    await running.says('TSTP');
    writeFileSync(traces.path('go'), '');
    expect(await running.ended).toMatchObject({ code: 0, stdout: 'on\nTSTP\ndone\n', stderr: '' });
  });
});

describe('on a terminal', () => {
  test('the command reads what is typed, and Ctrl-C reaches it', async () => {
    // A signal between the echo and the next program could be lost on that program, so the shell listens itself.
    const script = `
      trap 'trap - INT; kill -INT $$' INT
      read -r word
      echo "got $word"
      while :; do sleep 0.05; done
    `;
    const terminal = openTerminal(['run', '--redis', redis.url, 'job', '--', 'sh', '-c', script]);
    terminal.type('hello\r');
    await terminal.shows('got hello');
    terminal.type('\u0003');
    expect(await terminal.ended).toBe(130);
  });
});
