/** `watch`: a live table for people, a line for each change for programs. */
import { Redis } from 'ioredis';
import stringWidth from 'string-width';
import { expect, onTestFinished, test } from 'vitest';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { startRedis, useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { holdAs, openLocks } from './support/holders.ts';
import { start } from './support/holdfast.ts';
import { readAs } from './support/schema.ts';
import { openTerminal } from './support/terminal.ts';

const redis = useRedis();

interface Change {
  readonly event: string;
  readonly lock?: { readonly name: string };
}

test('tells each change in a line of JSON in a pipe, an outage too, and ends on SIGINT', async () => {
  const locks = openLocks(redis, 'billing');
  const first = await locks.lock('w:1').acquire();
  await locks.lock('other').acquire();
  const running = start(['watch', 'w:', '--every', '50ms', '--redis', redis.url]);
  await running.says('"event":"held"');
  const second = await locks.lock('w:2').acquire();
  await running.says('"event":"acquired"');
  await first.release();
  await running.says('"event":"released"');
  await second.release();
  await redis.kill();
  await running.says('"event":"trouble"');
  await redis.restart();
  const third = await openLocks(redis, 'billing').lock('w:3').acquire();
  // Names of owners too: everything is connected again.
  await waitFor(() => /"name":"w:3".*"application":"billing"/.test(running.stdout), { limitMs: 60_000 });
  await third.release();
  running.kill('SIGINT');
  const { code, stdout, stderr } = await running.ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const changes = stdout
    .trim()
    .split('\n')
    .map((line) => readAs<Change>('watch', line));
  const events = changes.filter(({ event }) => !['trouble', 'changed'].includes(event));
  expect(events.map(({ event, lock }) => `${event} ${lock?.name}`).slice(0, 3)).toEqual([
    'held w:1',
    'acquired w:2',
    'released w:1',
  ]);
});

test('draws a table on a terminal that follows, fits, and gives the terminal back', async () => {
  const locks = openLocks(redis, 'billing');
  const lease = await locks.lock('w:1').acquire();
  const terminal = openTerminal(['watch', 'w:', '--every', '50ms', '--redis', redis.url], { columns: 60 });
  await terminal.shows('1 held of w:*');
  await terminal.shows(/NAME +KIND +OWNER +HELD +LEFT/);
  await terminal.shows('billing on');
  expect(terminal.written.startsWith('\u001b[?1049h')).toBe(true);
  for (const line of terminal.pictures.flat()) expect(stringWidth(line)).toBeLessThanOrEqual(60);
  await lease.release();
  await terminal.shows('0 held of w:*');
  terminal.type('q');
  expect(await terminal.ended).toBe(0);
  expect(terminal.written.endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
});

test('shows how many wait and who comes next, as they come and as the lock passes on', async () => {
  const lease = await openLocks(redis, 'billing').lock('w:1').acquire();
  const terminal = openTerminal(['watch', 'w:', '--every', '50ms', '--redis', redis.url]);
  await terminal.shows(/w:1 +lock +billing on .* 0 +-/);
  const [shipping, mailing] = [openLocks(redis, 'shipping'), openLocks(redis, 'mailing')];
  const second = shipping.lock('w:1').acquire();
  await terminal.shows(/w:1 +lock +billing on .* 1 +shipping on /);
  const third = mailing.lock('w:1').acquire();
  await terminal.shows(/w:1 +lock +billing on .* 2 +shipping on /);
  await lease.release();
  await terminal.shows(/w:1 +lock +shipping on .* 1 +mailing on /);
  await (await second).release();
  await terminal.shows(/w:1 +lock +mailing on .* 0 +-/);
  await (await third).release();
  terminal.type('q');
  expect(await terminal.ended).toBe(0);
});

test('goes on while a server is frozen, from the start too, says so, and recovers', async () => {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  await holdAs(server, 'w:1');
  server.freeze();
  const args = ['watch', 'w:', '--every', '50ms', '--redis', server.url];
  const lines = start(args);
  const table = openTerminal(args);
  await lines.says('"event":"trouble"');
  expect(lines.stdout).toContain('no answer within 2 s');
  await table.shows('no answer within 2 s');
  server.resume();
  await lines.says('"event":"held"', 30_000);
  await table.shows('1 held of w:*', 30_000);
  server.freeze();
  await waitFor(() => lines.stdout.indexOf('"trouble"', lines.stdout.indexOf('"held"')) > 0, {
    what: 'that it is frozen again',
    limitMs: 30_000,
  });
  // What was seen before stays, with its time.
  await table.shows(/as it was at \d\d:\d\d:\d\d:/, 30_000);
  // Whoever wants to leave is not kept by a server that is frozen.
  table.type('\u0003');
  expect(await table.ended).toBe(0);
  lines.kill('SIGINT');
  expect(await lines.ended).toMatchObject({ code: 0, stderr: '' });
  server.resume();
});

test('does not begin where waiting mends nothing', async () => {
  const url = redis.url.replace('//', '//:wrong@');
  await ask(redis.port, ['CONFIG', 'SET', 'requirepass', 'right']);
  try {
    expect(await start(['watch', '--redis', url]).ended).toMatchObject({ code: 77, stdout: '' });
  } finally {
    const client = new Redis(redis.port, { password: 'right' });
    await client.config('SET', 'requirepass', '');
    client.disconnect();
  }
});

test('draws no line wider than the terminal, whatever the names are', async () => {
  const names = [`w:${'a'.repeat(133)}`, `w:${'注文'.repeat(60)}`, `w:${'👍🏽'.repeat(40)}`];
  for (const name of names) await holdAs(redis, name);
  for (const columns of [50, 80]) {
    const args = ['--redis', redis.url];
    const [live, list] = [
      openTerminal(['watch', 'w:', ...args], { columns }),
      openTerminal(['ls', 'w:', ...args], { columns }),
    ];
    await live.shows('3 held of w:*');
    await live.shows(/w:aaa+…a+ /);
    live.type('q');
    expect(await live.ended).toBe(0);
    expect(await list.ended).toBe(0);
    const drawn = [...live.pictures.flat(), ...list.pictures.flat()];
    for (const line of drawn) expect(stringWidth(line)).toBeLessThanOrEqual(columns);
    expect(list.text.trim().split('\r\n')).toHaveLength(4);
  }
});
