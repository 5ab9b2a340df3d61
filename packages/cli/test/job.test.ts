/** `holdfast run --once-per`, `holdfast job run` and `holdfast ls --jobs`, as processes. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { holdfast, start } from './support/holdfast.ts';
import { useTraces } from './support/job.ts';
import { readAs } from './support/schema.ts';

const redis = useRedis();
const tracesOf = useTraces();

const oncePer = (per: string, args: readonly string[]) =>
  holdfast(['run', '--redis', redis.url, '--once-per', per, ...args]);

const linesOf = (file: string): string[] => {
  try {
    return readFileSync(file, 'utf8').trim().split('\n');
  } catch {
    return [];
  }
};

describe.concurrent('run --once-per', () => {
  test('three machines with the same crontab line: one run, and the others name who ran it', async () => {
    const trace = tracesOf().path('three');
    const line = ['nightly', '--', 'sh', '-c', `echo "$HOLDFAST_SLOT $HOLDFAST_ATTEMPT" >> ${trace}`];
    const ran = await Promise.all([1, 2, 3].map(() => oncePer('30 2 * * *', line)));
    expect(ran.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(linesOf(trace)).toEqual([expect.stringMatching(/^\d{4}-\d\d-\d\dT02:30:00\.000Z 1$/)]);
    const skips = ran.map(({ stderr }) => stderr).filter((text) => text !== '');
    expect(skips).toHaveLength(2);
    for (const text of skips)
      expect(text).toMatch(/^holdfast: job "nightly": \S+ (has run|is running) the slot of/);
  });

  test('a machine that is started just before the slot waits for it, by the time of the server', async () => {
    const trace = tracesOf().path('early');
    const run = () =>
      oncePer('3s', ['--early', '3s', 'early', '--', 'sh', '-c', `echo "$HOLDFAST_SLOT" >> ${trace}`]);
    await run();
    await run();
    const slots = linesOf(trace).map((text) => Date.parse(text));
    expect(slots).toHaveLength(2);
    expect(slots.every((slot) => slot % 3_000 === 0)).toBe(true);
  });

  test('the exit code is that of the command, and an attempt that is left follows', async () => {
    const trace = tracesOf().path('attempts');
    const script = `echo "$HOLDFAST_ATTEMPT" >> ${trace}; [ "$HOLDFAST_ATTEMPT" = 2 ] || exit 3`;
    const ran = await oncePer('1d', ['--attempts', '2', 'again', '--', 'sh', '-c', script]);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(linesOf(trace)).toEqual(['1', '2']);
    const once = await oncePer('1d', ['fails', '--', 'sh', '-c', 'exit 3']);
    expect(once).toMatchObject({ code: 3, stderr: '' });
    const skipped = await oncePer('1d', ['fails', '--', 'true']);
    expect(skipped).toMatchObject({ code: 0, stderr: expect.stringContaining('and failed; skipped') });
  });

  test('what is wrong on the command line is said before anything is connected', async () => {
    const wrong = await oncePer('soon', ['x', '--', 'true']);
    expect(wrong).toMatchObject({ code: 64, stderr: expect.stringContaining('--once-per: expected a time') });
    const never = await oncePer('0 0 30 2 *', ['x', '--', 'true']);
    expect(never).toMatchObject({ code: 64, stderr: expect.stringContaining('that matches some day') });
    const alone = await holdfast(['run', '--redis', redis.url, '--late', '1s', 'x', '--', 'true']);
    expect(alone).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('--late: expected with --once-per'),
    });
  });

  test('a quorum is refused, with the reason', async () => {
    const two = ['--redis', redis.url, '--redis', 'redis://127.0.0.1:1', '--redis', 'redis://127.0.0.1:2'];
    const ran = await holdfast(['run', ...two, '--once-per', '1d', 'x', '--', 'true']);
    expect(ran.code).not.toBe(0);
  });
});

describe.concurrent('job run', () => {
  test('runs now under the lock of the job, and is its last run', async () => {
    const running = start([
      'job',
      'run',
      '--redis',
      redis.url,
      'report',
      '--',
      'sh',
      '-c',
      'echo on; sleep 60',
    ]);
    await running.says('on');
    const busy = await holdfast(['job', 'run', '--redis', redis.url, 'report', '--', 'true']);
    expect(busy).toMatchObject({ code: 75, stderr: expect.stringContaining('an earlier run is at work') });
    running.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 143 });
    expect(await ask(redis.port, ['HGET', 'holdfast_job:{report}', 'state'])).toBe('failed');
    const { code } = await holdfast(['job', 'run', '--redis', redis.url, 'report', '--', 'true']);
    expect(code).toBe(0);
    expect(await ask(redis.port, ['HGET', 'holdfast_job:{report}', 'state'])).toBe('done');
    expect(await ask(redis.port, ['EXISTS', 'holdfast_job_lock:{report}'])).toBe(0);
  });

  test('a slot that was missed counts as done', async () => {
    const args = ['--redis', redis.url, 'late', '--', 'true'];
    expect(await holdfast(['job', 'run', ...args])).toMatchObject({ code: 0 });
    const after = await holdfast(['run', '--once-per', '10d', ...args]);
    expect(after).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('a later slot was started already'),
    });
  });

  test('a command that outlives its killed holdfast is ended, and the run is shown as dead', async () => {
    const line = ['--redis', redis.url, '--lease', '2s', 'killed', '--', 'sh', '-c', 'echo on; sleep 60'];
    const running = start(['job', 'run', ...line]);
    await running.says('on');
    running.kill('SIGKILL');
    await running.ended;
    await waitFor(
      async () => {
        const { stdout } = await holdfast(['ls', '--redis', redis.url, '--jobs', '--json', 'killed']);
        return readAs<{ jobs: { state: string }[] }>('jobs', stdout).jobs[0]?.state === 'dead';
      },
      { what: 'the run is dead', limitMs: 60_000 },
    );
  });
});

test('ls --jobs shows the last run, where, how long, how it ended, and what comes next', async () => {
  await oncePer('1h', ['listed', '--', 'true']);
  const { code, stdout } = await holdfast(['ls', '--redis', redis.url, '--jobs', 'listed']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^JOB +LAST +STATE +TOOK +HOST +NEXT +SCHEDULE/);
  expect(stdout).toMatch(
    /^listed +\d{4}-\d\d-\d\d \d\d:00:00Z +done +\S+ +\S+ +\d{4}-\d\d-\d\d \d\d:00:00Z/m,
  );
  const json = await holdfast(['ls', '--redis', redis.url, '--jobs', '--json', 'listed']);
  const { jobs } = readAs<{ jobs: { name: string; state: string }[] }>('jobs', json.stdout);
  expect(jobs).toMatchObject([{ name: 'listed', state: 'done', attempt: 1, error: null }]);
});
