/** Whoever can write to Redis cannot write to the terminal of whoever looks. */
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { startRedis, useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { holdAs, recordKey } from './support/holders.ts';
import { answered, holdfast, start } from './support/holdfast.ts';
import { openTerminal } from './support/terminal.ts';

const redis = useRedis();
/** As old ones are, of which the client has something to say on its own. */
const old = useRedis({ args: ['--rename-command', 'HELLO', 'NOHELLO'] });

/** Clears the screen, colours it, takes the line back, forges a line, writes from right to left, hides. */
const EVIL = 'evil\u001b[2J\u009b31m\r\nholdfast: all is well\u202e\u200b\u2028\u007f';
const SESSION = '00000000-0000-4000-8000-00000000000a';

/** Everything that is no text, but the line ends that we write ourselves. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
const HARMFUL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;

/** The beginning of `EVIL` as it is to be shown, in text and in JSON. */
const SHOWN = 'evil\\u{1b}[2J\\u{9b}31m\\u{d}\\u{a}holdfast';
const SHOWN_IN_JSON = 'evil\\u001b[2J\\u009b31m\\r\\nholdfast';

/** A program that calls itself something evil, on a host that does too. */
async function holdAsEvilProgram(name: string): Promise<void> {
  await holdAs(redis, name, `${SESSION}:1`);
  const record = ['application', EVIL, 'host', EVIL, 'pid', '12'];
  await ask(redis.port, ['HSET', recordKey(SESSION), ...record]);
  onTestFinished(async () => void (await ask(redis.port, ['DEL', recordKey(SESSION)])));
}

const JOB = ['--', 'echo', 'never'];
const FORCE = ['--force', '--reason', 'test', '--yes'];

describe.each([
  // A hash whose field has not the form of an owner is not listed.
  { what: 'an owner', isListed: false, take: (name: string) => holdAs(redis, name, EVIL) },
  { what: 'a program', isListed: true, take: holdAsEvilProgram },
])('$what with escape sequences in its name', ({ isListed, take }) => {
  test.each([
    ['run --no-wait', ['run', '--no-wait', 'job', ...JOB], 75],
    ['run --wait', ['run', '--wait', '3s', 'job', ...JOB], 75],
    ['inspect', ['inspect', 'job'], 0],
    ['inspect --json', ['inspect', 'job', '--json'], 0],
    ['ls', ['ls'], 0],
    ['ls --json', ['ls', '--json'], 0],
    ['release', ['release', 'job', ...FORCE], 0],
    ['release --json', ['release', 'job', ...FORCE, '--json'], 0],
  ])('is shown as escapes by %s', async (_command, [command = '', ...args], code) => {
    await take('job');
    const ran = await answered([command, '--redis', redis.url, ...args]);
    expect(ran.code, ran.stderr).toBe(code);
    for (const said of [ran.stdout, ran.stderr]) expect(said).not.toMatch(HARMFUL);
    expect(ran.stdout + ran.stderr).not.toMatch(/^holdfast: all is well/m);
    const shown = args.includes('--json') ? SHOWN_IN_JSON : SHOWN;
    expect((ran.stdout + ran.stderr).includes(shown)).toBe(isListed || command !== 'ls');
  });

  test('is shown as escapes by the question of release', async () => {
    await take('job');
    const terminal = openTerminal(['release', 'job', ...FORCE.slice(0, 3), '--redis', redis.url]);
    await terminal.shows('[y/N]');
    expect(terminal.written).not.toContain('\u001b[2J');
    expect(terminal.written).not.toContain('\u009b');
    expect(terminal.written).toContain(SHOWN);
    terminal.type('n\r');
    expect(await terminal.ended).toBe(1);
  });
});

test('a lock with escape sequences in its name is shown as escapes, and told whole in JSON', async () => {
  await holdAs(redis, EVIL, `${SESSION}:1`);
  const args = ['--redis', redis.url];
  const shown = await holdfast(['ls', ...args]);
  expect(shown.stdout).toContain(SHOWN);
  expect(shown.stdout).not.toMatch(HARMFUL);
  const told = await holdfast(['ls', '--json', ...args]);
  expect(told.stdout).not.toMatch(HARMFUL);
  expect(JSON.parse(told.stdout).locks.map(({ name }: { name: string }) => name)).toContain(EVIL);
  const watched = start(['watch', ...args]);
  await watched.says('"event":"held"');
  watched.kill('SIGINT');
  expect((await watched.ended).stdout).not.toMatch(HARMFUL);
  const live = openTerminal(['watch', ...args]);
  await live.shows('evil\\u{1b}[2J\\u{9b}31m');
  expect(live.written).not.toContain('\u001b[2J');
  live.type('q');
  expect(await live.ended).toBe(0);
});

test.each([
  ['the name of a lock', ['inspect', EVIL], 1],
  ['a command of run', ['run', 'job', '--', EVIL], 127],
  ['a command of ours', [EVIL], 64],
])('%s on the command line is shown as escapes', async (_what, args, code) => {
  const ran = await holdfast(args, { env: { HOLDFAST_REDIS_URL: redis.url } });
  expect(ran.stdout + ran.stderr).not.toMatch(HARMFUL);
  expect(ran.stdout + ran.stderr).toContain('evil\\u{1b}[2J\\u{9b}31m');
  expect(ran.code).toBe(code);
});

test('an argument too many is not repeated', async () => {
  const ran = await holdfast(['inspect', 'job', EVIL]);
  expect(ran).toMatchObject({ code: 64, stdout: '' });
  expect(ran.stderr).not.toContain('evil');
});

test('what the client of Redis says on its own is told as a warning of ours', async () => {
  const ran = await holdfast(['inspect', 'job', '--redis', old.url.replace('//', '//:unneeded@')]);
  expect(ran.stderr).toMatch(/^(holdfast: warning: \w[^\n]* does not require a password[^\n]*\n)+$/);
  expect(ran.code).toBe(1);
});

test('the name of something that is no lock is shown as escapes', async () => {
  await ask(redis.port, ['SET', EVIL, 'x']);
  onTestFinished(async () => void (await ask(redis.port, ['DEL', EVIL])));
  const ran = await holdfast(['inspect', EVIL, '--redis', redis.url]);
  expect(ran.stderr).not.toMatch(HARMFUL);
  expect(ran.stderr).toContain(`"${SHOWN}`);
  expect(ran.code).toBe(65);
});

test('what a server says in an error is shown as escapes', async () => {
  // An error reply is one line: it has everything but line ends.
  const reply = `-ERR ${EVIL.replaceAll(/[\r\n]/g, '')}\r\n`;
  const server = createServer((socket) => {
    socket.on('error', () => {});
    // Each command is an array.
    socket.on('data', (chunk) => socket.write(reply.repeat(`${chunk}`.match(/^\*\d/gm)?.length ?? 0)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const ran = await holdfast(['inspect', 'job', '--redis', `redis://127.0.0.1:${port}`]);
  expect(ran.stderr).not.toMatch(HARMFUL);
  expect(ran.stderr).toContain('ERR evil\\u{1b}[2J\\u{9b}31m');
  expect(ran).toMatchObject({ code: 69, stdout: '' });
});

/** Sixteen digits, of which a `Date` takes the half. */
const NO_TIME = '9999999999999999';

test('a time that no calendar has, in the marker of a job, is no time', async () => {
  const fields = { slot: '1795064400000', state: 'done', attempt: '1', fence: '7', host: 'vm' };
  const times = { began: NO_TIME, ended: NO_TIME, next: NO_TIME };
  const marker = Object.entries({ ...fields, ...times }).flat();
  await ask(redis.port, ['HSET', 'holdfast_job:{forged}', ...marker]);
  const shown = await holdfast(['ls', '--jobs', 'forged', '--redis', redis.url]);
  expect(shown).toMatchObject({ code: 0, stderr: '' });
  expect(shown.stdout).toMatch(/forged +2026-11-19 05:00:00Z +done/);
});

test('a time that no calendar has, in the audit trail, hides no other entry', async () => {
  const own = await startRedis();
  const entry = ['action', 'release', 'by', 'ada', 'reason', 'x', 'phase', 'asked'];
  await ask(own.port, ['XADD', 'holdfast_audit', `${Date.now()}-1`, 'id', 'a', 'lock', 'true', ...entry]);
  await ask(own.port, ['XADD', 'holdfast_audit', `${NO_TIME}-1`, 'id', 'b', 'lock', 'forged', ...entry]);
  const told = await holdfast(['audit', '--redis', own.url]);
  expect(told).toMatchObject({ code: 0, stderr: '' });
  expect(told.stdout).toMatch(/ada .* true /);
  expect(told.stdout).not.toContain('forged');
});
