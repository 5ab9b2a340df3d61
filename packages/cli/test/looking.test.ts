/** `ls`, `inspect` and `release`: who holds what, and taking it away. */
import { hostname } from 'node:os';
import { describe, expect, test } from 'vitest';
import { lineOf } from '../../holdfast/test/support/locks/kind.ts';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import type { LockList } from '../src/locks/lock-reader.ts';
import type { LockView } from '../src/locks/lock-view.ts';
import { holdAs, inLine, JAVA, openLocks, untilRecorded } from './support/holders.ts';
import { holdfast } from './support/holdfast.ts';
import { readAs } from './support/schema.ts';
import { openTerminal } from './support/terminal.ts';

const redis = useRedis();
/** Fences that a lock reserves for hand-overs inside its process: the default of the option `handovers`. */
const HANDOVERS = 64;

const onServer = (...args: readonly string[]) => holdfast([...args, '--redis', redis.url]);

describe('ls', () => {
  test('lists what is held with its owner, its times and its waiters, by name', async () => {
    const beganMs = performance.now();
    const locks = openLocks(redis, 'billing');
    await locks.lock('a:2').acquire();
    await locks.mutex('a:1').acquire();
    await holdAs(redis, 'a:3', JAVA, 2);
    await locks.lock('b').acquire();
    await untilRecorded(redis, locks.session);
    const waiting = openLocks(redis, 'shipping');
    const waiter = waiting.lock('a:2').acquire();
    waiter.catch(() => {});
    await waitFor(async () => {
      const found = await locks.inspect('a:2');
      return found?.kind === 'lock' && found.waiters === 1;
    });
    await untilRecorded(redis, waiting.session);

    const { code, stdout, stderr } = await onServer('ls', 'a:', '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const list = readAs<LockList>('ls', stdout);
    expect(list.isComplete).toBe(true);
    expect(list.locks.map(({ name }) => name)).toEqual(['a:1', 'a:2', 'a:3']);
    const [mutex, lock, java] = list.locks as [LockView, LockView, LockView];
    expect(mutex).toMatchObject({ kind: 'mutex', owner: null, application: null, fence: null });
    expect(lock).toMatchObject({
      kind: 'lock',
      owner: `${locks.session}:1`,
      session: locks.session,
      application: 'billing',
      host: hostname(),
      pid: process.pid,
      isHeldForExact: true,
      holdCount: 1,
      waiters: 1,
      guests: 0,
      line: [
        {
          place: 1,
          session: waiting.session,
          application: 'shipping',
          host: hostname(),
          pid: process.pid,
          isListening: true,
        },
      ],
    });
    // Since a fence was given for it, by the clock of the server, which is that of this machine.
    expect(lock.heldForMs).toBeLessThan(performance.now() - beganMs + 1_000);
    expect(lock.leftMs).toBeGreaterThan(10_000);
    expect(java).toMatchObject({
      owner: JAVA,
      heldForMs: null,
      isHeldForExact: false,
      holdCount: 2,
      fence: null,
    });

    const table = (await onServer('ls', 'a:')).stdout;
    const columns = table.split('\n').map((line) => line.split(/ {2,}/));
    expect(columns[0]).toEqual([
      'NAME',
      'KIND',
      'OWNER',
      'HELD',
      'LEFT',
      'COUNT',
      'FENCE',
      'WAITERS',
      'NEXT',
    ]);
    expect(columns[2]?.slice(0, 3)).toEqual([
      'a:2',
      'lock',
      `billing on ${hostname()}, process ${process.pid}`,
    ]);
    expect(columns[2]?.at(-1)).toMatch(/^shipping on .*, process \d+ \(\d.*s\)$/);
    expect(columns[2]?.at(-2)).toBe('1');
    expect(columns[3]?.slice(0, 4)).toEqual(['a:3', 'lock', JAVA, '-']);
    expect(columns).toHaveLength(5);

    const limited = await onServer('ls', '--limit', '1', '--json');
    expect(readAs<LockList>('ls', limited.stdout)).toMatchObject({ isComplete: false, locks: [{}] });
    expect((await onServer('ls', '--limit', '2')).stderr).toBe(
      'holdfast: there are more than 2; see --limit\n',
    );
  });

  test('prints nothing when nothing is held', async () => {
    expect(await onServer('ls', 'none:')).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });

  test('shows a name that would steer the terminal as escapes', async () => {
    await holdAs(redis, 'evil\u001b[2J\nname');
    const { stdout } = await onServer('ls', 'evil');
    expect(stdout).toContain('evil\\u{1b}[2J\\u{a}name');
  });

  test('has colours on a terminal, and none with NO_COLOR', async () => {
    await holdAs(redis, 'c');
    const args = ['ls', 'c', '--redis', redis.url];
    const coloured = openTerminal(args);
    expect(await coloured.ended).toBe(0);
    expect(coloured.written).toContain('\u001b[2mNAME');
    const plain = openTerminal(args, { env: { NO_COLOR: '1' } });
    expect(await plain.ended).toBe(0);
    expect(plain.written).not.toContain('\u001b[2m');
    expect(plain.text).toContain('NAME');
  });
});

describe('inspect', () => {
  test('shows one lock, as text and as JSON', async () => {
    const locks = openLocks(redis, 'billing');
    const lease = await locks.lock('order').acquire();
    await untilRecorded(redis, locks.session);
    const { code, stdout } = await onServer('inspect', 'order');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^order\n {2}kind {5}lock\n {2}owner {4}billing on .*\n {2}holder {3}[0-9a-f-]{36}:1\n/,
    );
    const endOfBlock = lease.fence + HANDOVERS;
    expect(stdout).toContain(`  fence    ${endOfBlock}\n`);
    const json = readAs<{ lock: LockView }>('inspect', (await onServer('inspect', 'order', '--json')).stdout);
    expect(json.lock).toMatchObject({ application: 'billing', fence: endOfBlock });
  });

  test('says of a lock that its process may be keeping it unused', async () => {
    const locks = openLocks(redis, false, { lingerMs: 10_000 });
    // The first holds are given back, until the process hears when somebody wants the lock.
    await waitFor(
      async () => {
        await locks.lock('kept').using(() => {});
        const json = readAs<{ lock: LockView | null }>(
          'inspect',
          (await onServer('inspect', 'kept', '--json')).stdout,
        );
        await locks.lock('kept').using(() => {});
        const { stdout } = await onServer('inspect', 'kept');
        return (
          json.lock?.mayLinger === true &&
          stdout.includes('\n  linger   its process may be keeping it unused\n')
        );
      },
      { what: 'a hold that is kept', limitMs: 120_000 },
    );
  });

  test('shows who waits, and never the token of a mutex', async () => {
    const [locks, first, second] = [openLocks(redis), openLocks(redis, 'shipping'), openLocks(redis)];
    await locks.mutex('queued').acquire();
    const waits: Promise<unknown>[] = [];
    for (const [index, session] of [first, second].entries()) {
      waits.push(session.mutex('queued').acquire());
      await waitFor(async () => (await inLine(redis, 'queued')) === index + 1, {
        what: 'a place in the line',
      });
    }
    for (const wait of waits) wait.catch(() => {});
    await untilRecorded(redis, first.session);
    const { code, stdout } = await onServer('inspect', 'queued');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /\n {2}waiters {2}2\n {2}line {5}1 {2}shipping on .*, process \d+ \(.*s\)\n {11}2 {2}[0-9a-f-]{36} \(.*s\)\n$/,
    );
    expect(stdout).not.toContain(':holdfast');
    const json = readAs<{ lock: LockView }>(
      'inspect',
      (await onServer('inspect', 'queued', '--json')).stdout,
    );
    expect(json.lock.line).toMatchObject([
      { place: 1, session: first.session, application: 'shipping', pid: process.pid },
      { place: 2, session: second.session, application: null, pid: null },
    ]);
    expect(JSON.stringify(json)).not.toContain(':holdfast');
  });

  test('shows who waits for a lock that nobody holds', async () => {
    const session = '1b0b5bb1-9f3c-8a2e-9c05-7d1e2f3a4b5c';
    const now = Date.now();
    const ticket = `${session}:3 1.1.0 30000 1000 65 0 ${now + 600_000} ${now - 5_000} n holdfast_session:${session}`;
    const zeros = ['open', 'window', 'run', 'since', 'guest', 'linger'].flatMap((field) => [field, '0']);
    const state = ['first', '1', 'last', '1', ...zeros];
    await ask(redis.port, ['HSET', lineOf('abandoned'), ...state, '1', ticket, `#${session}:3`, '1']);
    const { code, stdout } = await onServer('inspect', 'abandoned');
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^abandoned: nobody holds it\n {2}line {5}1 {2}1b0b5bb1-\S+ \(\d.*s, does not listen\)\n$/,
    );
    const json = await onServer('inspect', 'abandoned', '--json');
    expect(readAs('inspect', json.stdout)).toMatchObject({
      lock: null,
      free: { openMs: 0, waiters: 1, guests: 0, line: [{ session, isListening: false }] },
    });
    expect(await onServer('release', 'abandoned', '--force', '--reason', 'why', '--yes')).toMatchObject({
      code: 1,
      stdout: 'abandoned: nobody holds it\n',
    });
    await ask(redis.port, ['DEL', lineOf('abandoned')]);
  });

  test('exits with 1 when nobody holds it, and with 65 when something else stands there', async () => {
    expect(await onServer('inspect', 'free')).toMatchObject({ code: 1, stdout: 'free: nobody holds it\n' });
    const free = await onServer('inspect', 'free', '--json');
    expect(readAs('inspect', free.stdout)).toEqual({ name: 'free', lock: null, free: null });
    await ask(redis.port, ['RPUSH', 'list', '1']);
    const other = await onServer('inspect', 'list');
    expect(other).toMatchObject({ code: 65, stdout: '' });
    expect(other.stderr).toBe('holdfast: "list": the key holds something else (a list)\n');
  });
});

describe('release', () => {
  const FORCE = ['--force', '--reason', 'the host is gone'];

  test('takes a lock away and says who lost it', async () => {
    const locks = openLocks(redis, 'billing');
    const lease = await locks.lock('order').acquire({ leaseMs: 9_000 });
    await untilRecorded(redis, locks.session);
    const { code, stdout } = await onServer('release', 'order', ...FORCE, '--yes');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^order: released; billing on .*, process \d+ has lost it, .* \(the host is gone\)\n$/,
    );
    await waitFor(() => lease.signal.aborted, { what: 'the owner to hear of it' });
    const again = await onServer('release', 'order', ...FORCE, '--yes', '--json');
    expect(again.code).toBe(1);
    expect(readAs('release', again.stdout)).toMatchObject({ isReleased: false, lost: null });
  });

  test('gives it to the next in line in the same step', async () => {
    const [locks, next] = [openLocks(redis), openLocks(redis)];
    await locks.lock('order').acquire();
    const waiting = next.lock('order').acquire();
    await waitFor(async () => (await inLine(redis, 'order')) === 1, { what: 'a place in the line' });
    const { code } = await onServer('release', 'order', ...FORCE, '--yes');
    expect(code).toBe(0);
    expect((await waiting).isHeld).toBe(true);
    await (await waiting).release();
  });

  test('answers in JSON, and leaves what is no lock untouched', async () => {
    await holdAs(redis, 'order');
    const { code, stdout } = await onServer('release', 'order', ...FORCE, '--yes', '--json');
    expect(code).toBe(0);
    expect(readAs('release', stdout)).toMatchObject({
      name: 'order',
      isReleased: true,
      lost: { owner: JAVA, application: null },
      reason: 'the host is gone',
    });
    await ask(redis.port, ['SET', 'data', '1']);
    expect(await onServer('release', 'data', ...FORCE, '--yes')).toMatchObject({ code: 65 });
    expect(await ask(redis.port, ['GET', 'data'])).toBe('1');
  });

  test.each([
    ['--force', ['--reason', 'why', '--yes'], /expected --force/],
    ['--reason', ['--force', '--yes'], /expected --reason/],
    ['--yes where nobody can be asked', FORCE, /expected --yes/],
  ])('wants %s', async (_what, args, said) => {
    const ran = await onServer('release', 'order', ...args);
    expect(ran).toMatchObject({ code: 64, stdout: '' });
    expect(ran.stderr).toMatch(said);
  });

  test.each([
    ['Ctrl-D', '\u0004', 1],
    ['Ctrl-C', '\u0003', 130],
  ])('takes %s at the question for a no', async (_what, key, code) => {
    await holdAs(redis, 'java');
    const terminal = openTerminal(['release', 'java', ...FORCE, '--redis', redis.url]);
    await terminal.shows('[y/N]');
    terminal.type(key);
    expect(await terminal.ended).toBe(code);
    expect(terminal.text).toMatch(/\[y\/N\] \r?\nholdfast: nothing was released\r\n$/);
    expect(await ask(redis.port, ['EXISTS', 'java'])).toBe(1);
  });

  test('asks on a terminal, and does nothing without a yes', async () => {
    await holdAs(redis, 'java');
    const args = ['release', 'java', ...FORCE, '--redis', redis.url];
    const no = openTerminal(args);
    await no.shows(`java is held by ${JAVA}. Take it away? [y/N]`);
    no.type('n\r');
    expect(await no.ended).toBe(1);
    expect(await ask(redis.port, ['EXISTS', 'java'])).toBe(1);
    const yes = openTerminal(args);
    await yes.shows('[y/N]');
    yes.type('y\r');
    expect(await yes.ended).toBe(0);
    expect(yes.text).toContain('java: released');
    expect(await ask(redis.port, ['EXISTS', 'java'])).toBe(0);
  });
});
