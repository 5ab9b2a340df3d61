/** `holdfast run --once-per`, `holdfast job run` and `holdfast ls --jobs`, as processes. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { answered, holdfast, start } from './support/holdfast.ts';
import { useTraces } from './support/job.ts';
import { readAs } from './support/schema.ts';

const redis = useRedis();
const tracesOf = useTraces();

const oncePer = (per: string, args: readonly string[]) =>
  holdfast(['run', '--redis', redis.url, '--once-per', per, ...args]);

/** Commands that are run read the same clock: the server is on this machine. */
async function serverMs(): Promise<number> {
  const [seconds, microseconds] = ((await ask(redis.port, ['TIME'])) as string[]).map(Number);
  return (seconds ?? 0) * 1_000 + Math.floor((microseconds ?? 0) / 1_000);
}

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
    // So many slots since 1970, each of months, that the next one is a few seconds away.
    const slots = 100;
    const everyMs = Math.ceil(((await serverMs()) + 4_000) / slots);
    const line = ['early', '--', 'sh', '-c', `echo "$HOLDFAST_SLOT $(date +%s%3N)" >> ${trace}`];
    expect(await oncePer(`${everyMs}ms`, ['--early', '1m', ...line])).toMatchObject({ code: 0, stderr: '' });
    const [[slot = '', atMs] = []] = linesOf(trace).map((text) => text.split(' '));
    expect(Date.parse(slot)).toBe(slots * everyMs);
    expect(Number(atMs)).toBeGreaterThanOrEqual(slots * everyMs);
  });

  test('a pattern is read in the time zone that is named', async () => {
    const trace = tracesOf().path('zone');
    // Half past twelve exists on every day, also when the clocks change.
    const zone = ['--time-zone', 'Europe/Berlin', '--early', '1ms'];
    const line = ['zoned', '--', 'sh', '-c', `echo "$HOLDFAST_SLOT" >> ${trace}`];
    expect(await oncePer('30 12 * * *', [...zone, ...line])).toMatchObject({ code: 0, stderr: '' });
    const clock = new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', timeStyle: 'medium' });
    expect(linesOf(trace).map((slot) => clock.format(new Date(slot)))).toEqual(['12:30:00']);
    const nowhere = await oncePer('30 12 * * *', ['--time-zone', 'Nowhere/At_All', ...line]);
    expect(nowhere).toMatchObject({ code: 64, stderr: expect.stringContaining('Nowhere/At_All') });
  });

  test('a slot that began longer ago than --late is left out', async () => {
    const late = ['--early', '1ms', '--late', '1ms', 'too late', '--', 'echo', 'ran'];
    const ran = await oncePer('1d', late);
    expect(ran).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('was missed') });
    expect(await ask(redis.port, ['HGET', 'holdfast_job:{too late}', 'state'])).toBe('missed');
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

  test('a quorum is refused before anything is connected, with the reason', async () => {
    // Nothing listens there: who connected first would say so instead.
    const three = [1, 2, 3].flatMap((port) => ['--redis', `redis://127.0.0.1:${port}`]);
    const stderr = expect.stringContaining('got a quorum of 3: the marker of a job cannot be kept there');
    const run = await holdfast(['run', ...three, '--once-per', '1d', 'x', '--', 'true']);
    expect(run).toMatchObject({ code: 64, stderr });
    const byHand = await holdfast(['job', 'run', ...three, 'x', '--', 'true']);
    expect(byHand).toMatchObject({ code: 64, stderr });
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
    const busy = await answered(['job', 'run', '--redis', redis.url, 'report', '--', 'true']);
    expect(busy).toMatchObject({ code: 75, stderr: expect.stringContaining('an earlier run is at work') });
    const { stdout } = await holdfast(['ls', '--redis', redis.url, '--json', 'report']);
    expect(readAs<{ locks: unknown[] }>('ls', stdout).locks).toMatchObject([{ name: 'report', kind: 'job' }]);
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
    const line = ['--redis', redis.url, '--lease', '6s', 'killed', '--', 'sh', '-c', 'echo on; sleep 60'];
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
