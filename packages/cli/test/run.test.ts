/** `holdfast run`: the command, what it gets, and what comes back. */
import { hostname } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { inLine, recordKey, sessionOf, untilRecorded } from './support/holders.ts';
import { answered, holdfast, type Running, type StartOptions, start } from './support/holdfast.ts';

const redis = useRedis();

const onServer = (args: readonly string[], options: StartOptions = {}) =>
  holdfast(['run', '--redis', redis.url, ...args], options);

const askServer = (args: readonly string[]) => answered(['run', '--redis', redis.url, ...args]);

describe.concurrent('the command', () => {
  test('gives us its exit code, and leaves no key and no record behind', async () => {
    const script = 'echo $HOLDFAST_SESSION; exit 7';
    const { code, stdout, stderr } = await onServer(['exit', '--', 'sh', '-c', script]);
    expect({ code, stderr }).toEqual({ code: 7, stderr: '' });
    expect(stdout).toMatch(/^[0-9a-f-]{36}\n$/);
    expect(await ask(redis.port, ['EXISTS', 'exit', recordKey(stdout.trim())])).toBe(0);
  });

  test('that is killed by a signal gives 128 and the number of the signal', async () => {
    expect(await onServer(['kill', '--', 'sh', '-c', 'kill -KILL $$'])).toMatchObject({ code: 137 });
  });

  test('finds the name, the fence and the session in its environment', async () => {
    const script = 'echo "$HOLDFAST_LOCK $HOLDFAST_FENCE $HOLDFAST_SESSION"';
    const first = await onServer(['a b', '--', 'sh', '-c', script]);
    const second = await onServer(['a b', '--', 'sh', '-c', script]);
    const read = ({ stdout }: { stdout: string }) => /^a b (\d{16}) ([0-9a-f-]{36})\n$/.exec(stdout) ?? [];
    expect(Number(read(second)[1])).toBeGreaterThan(Number(read(first)[1]));
    expect(read(second)[2]).not.toBe(read(first)[2]);
  });

  test('runs under a lease that is longer than any timer', async () => {
    const args = ['--lease', '300d', 'long', '--', 'echo', 'done'];
    expect(await onServer(args)).toMatchObject({ code: 0, stdout: 'done\n', stderr: '' });
  });

  test('reads our standard input and writes to our standard output and error', async () => {
    const ran = await onServer(['input', '--', 'sh', '-c', 'cat; echo oops >&2'], { input: 'one\ntwo\n' });
    expect(ran).toMatchObject({ code: 0, stdout: 'one\ntwo\n', stderr: 'oops\n' });
  });

  test('keeps its own options, with and without the two dashes', async () => {
    expect((await onServer(['dashes', '--', 'printf', '%s,', '--wait', '-x'])).stdout).toBe('--wait,-x,');
    expect((await onServer(['dashes', 'printf', '%s,', '--json', '-h'])).stdout).toBe('--json,-h,');
  });

  test('begins behind the options of run, which may stand behind the name too', async () => {
    const behind = ['after', '--lease', '10s', '--prefix', 'p:'];
    const script = 'echo $HOLDFAST_LOCK "$@"';
    const dashed = await onServer([...behind, '--', 'sh', '-c', script, 'sh', '--wait', '--', '-x']);
    expect(dashed).toMatchObject({ code: 0, stdout: 'after --wait -- -x\n', stderr: '' });
    const bare = await onServer([...behind, 'sh', '-c', script, 'sh', '--prefix', '--', '-x']);
    expect(bare).toMatchObject({ code: 0, stdout: 'after --prefix -- -x\n', stderr: '' });
    const help = await onServer(['after', '--help', '--', 'true']);
    expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining('Usage: holdfast run') });
  });

  test('runs under the lock with the prefix, and the record says who holds it', async () => {
    const running = start([
      'run',
      '--redis',
      redis.url,
      '--prefix',
      'p:',
      'job',
      '--',
      'sh',
      '-c',
      'echo on; sleep 30',
    ]);
    await running.says('on');
    const record = ['HGETALL', recordKey(await sessionOf(redis, 'p:job'))];
    await waitFor(async () => [await ask(redis.port, record)].flat().includes('holdfast run sh'));
    running.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 143, stderr: '' });
  });

  test('that does not exist or cannot be executed is told as shells do, and the lock is free again', async () => {
    expect(await onServer(['none', '--', 'no-such-command'])).toMatchObject({
      code: 127,
      stderr: 'holdfast: "no-such-command": there is no such command\n',
    });
    expect(await onServer(['none', '--', '/dev/null'])).toMatchObject({ code: 126 });
  });

  test('is not begun when the key holds something else', async () => {
    await ask(redis.port, ['RPUSH', 'list', '1']);
    const ran = await onServer(['list', '--', 'echo', 'never']);
    expect(ran).toMatchObject({ code: 65, stdout: '' });
    expect(ran.stderr).toMatch(/^holdfast: lock "list": the key holds something else .*\n$/);
  });

  test('is renewed for as long as it runs', async () => {
    // A short grace leaves nearly four seconds for a renewal that comes late on a busy machine.
    const terms = ['--lease', '6s', '--grace', '50ms'];
    const ran = await onServer([...terms, 'long', '--', 'sh', '-c', 'sleep 7; echo done']);
    expect(ran).toMatchObject({ code: 0, stdout: 'done\n', stderr: '' });
  });
});

/** The program, its host and process, and for how long: what `ls` knows of it. */
const HOLDER: string = `holdfast run sh on ${hostname()}, process \\d+ \\(for [^)]+\\)`;

describe.concurrent('while somebody else holds the lock', () => {
  let holder: Running;

  beforeAll(async () => {
    holder = start(['run', '--redis', redis.url, 'held', '--', 'sh', '-c', 'echo on; sleep 600']);
    await holder.says('on');
    await untilRecorded(redis, await sessionOf(redis, 'held'));
  });

  afterAll(async () => {
    holder.kill('SIGTERM');
    expect((await holder.ended).code).toBe(143);
  });

  test('--no-wait exits with 75 at once and says who holds it', async () => {
    const ran = await askServer(['--no-wait', 'held', '--', 'echo', 'never']);
    expect(ran).toMatchObject({ code: 75, stdout: '' });
    expect(ran.stderr).toMatch(new RegExp(`^holdfast: lock "held": ${HOLDER} holds it\\n$`));
  });

  test('--wait gives up after its time, with the code that was asked for', async () => {
    const ran = await askServer(['--wait', '2s', '--on-busy-exit', '0', 'held', '--', 'echo', 'never']);
    expect(ran).toMatchObject({ code: 0, stdout: '' });
    const waiting = `(holdfast: waiting for lock "held": ${HOLDER} holds it\\n)?`;
    expect(ran.stderr).toMatch(
      new RegExp(`^${waiting}holdfast: lock "held": waited [\\d.]+s; ${HOLDER} holds it\\n$`),
    );
    expect(ran.tookMs).toBeGreaterThan(2_000);
  });

  test('a wait says after a second who holds it, and when another does, unless it is to be quiet', async () => {
    const hold = (): Running =>
      start(['run', '--redis', redis.url, 'told', '--', 'sh', '-c', 'echo on; sleep 600']);
    const first = hold();
    await first.says('on');
    await untilRecorded(redis, await sessionOf(redis, 'told'));
    const job = ['--redis', redis.url, 'told', '--', 'echo', 'mine'];
    const [waiter, quiet] = [start(['run', ...job]), start(['run', '--quiet', ...job])];
    const told = (pid: number): RegExp =>
      new RegExp(
        `^holdfast: waiting for lock "told": ${HOLDER.replace('\\\\d+', String(pid))} holds it$`,
        'm',
      );
    await waitFor(() => told(first.pid).test(waiter.stderr), { what: 'who holds it', limitMs: 30_000 });
    // Another program takes it away: Java, which has no record.
    const take = `redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[1], ARGV[1], 1) redis.call('PEXPIRE', KEYS[1], 600000)`;
    await ask(redis.port, ['EVAL', take, '1', 'told', '00000000-0000-4000-8000-000000000000:7']);
    await waitFor(() => /"told": 00000000-0000-4000-8000-000000000000:7.* holds it\n/.test(waiter.stderr), {
      what: 'the other one',
      limitMs: 60_000,
    });
    await ask(redis.port, ['DEL', 'told']);
    await ask(redis.port, ['PUBLISH', 'redisson_lock__channel:{told}', '0']);
    for (const { ended } of [waiter, quiet]) expect(await ended).toMatchObject({ code: 0, stdout: 'mine\n' });
    expect((await quiet.ended).stderr).toBe('');
    expect(await first.ended).toMatchObject({ code: 79 });
  });

  test('a wait without an end begins when the other lets go', async () => {
    const other = start(['run', '--redis', redis.url, 'turn', '--', 'sh', '-c', 'echo on; sleep 600']);
    await other.says('on');
    const waiter = start(['run', '--quiet', '--redis', redis.url, 'turn', '--', 'echo', 'mine']);
    await waitFor(async () => (await inLine(redis, 'turn')) === 1, { what: 'a waiter', limitMs: 90_000 });
    other.kill('SIGTERM');
    expect(await waiter.ended).toMatchObject({ code: 0, stdout: 'mine\n', stderr: '' });
    expect((await other.ended).code).toBe(143);
  });

  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('%s ends the wait, and nothing is begun or left', async (signal, code) => {
    const name = `signal:${signal}`;
    await ask(redis.port, ['HSET', name, '00000000-0000-4000-8000-000000000000:1', '1']);
    await ask(redis.port, ['PEXPIRE', name, '600000']);
    const waiter = start(['run', '--quiet', '--redis', redis.url, name, '--', 'echo', 'never']);
    await waitFor(async () => (await inLine(redis, name)) === 1, { what: 'a waiter', limitMs: 90_000 });
    waiter.kill(signal);
    expect(await waiter.ended).toMatchObject({ code, stdout: '', stderr: '' });
    await waitFor(async () => (await inLine(redis, name)) === 0, { what: 'no waiter' });
  });
});
