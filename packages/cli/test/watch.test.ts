/** `watch`: a live table for people, a line for each change for programs. */
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { Locks } from '../../holdfast/src/index.ts';
import { useRedis } from '../../holdfast/test/support/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { start } from './support/holdfast.ts';
import { readAs } from './support/schema.ts';
import { openTerminal } from './support/terminal.ts';

const redis = useRedis();

interface Change {
  readonly event: string;
  readonly lock?: { readonly name: string };
}

function openLocks(): Locks {
  const locks = new Locks(new Redis(redis.port, { lazyConnect: true }), { application: 'billing' });
  onTestFinished(() => locks.close());
  return locks;
}

test('tells each change in a line of JSON in a pipe, an outage too, and ends on SIGINT', async () => {
  const locks = openLocks();
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
  const third = await openLocks().lock('w:3').acquire();
  // Names of owners too: everything is connected again.
  await waitFor(() => /"name":"w:3".*"application":"billing"/.test(running.stdout), { limitMs: 10_000 });
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
  const locks = openLocks();
  const lease = await locks.lock('w:1').acquire();
  const terminal = openTerminal(['watch', 'w:', '--every', '50ms', '--redis', redis.url], { columns: 60 });
  await terminal.shows('1 held of w:*');
  await terminal.shows(/NAME +KIND +OWNER/);
  await terminal.shows('billing on');
  expect(terminal.written.startsWith('\u001b[?1049h')).toBe(true);
  for (const line of terminal.text.split('\r\n')) expect(line.length).toBeLessThanOrEqual(120);
  await lease.release();
  await terminal.shows('0 held of w:*');
  terminal.type('q');
  expect(await terminal.ended).toBe(0);
  expect(terminal.written.endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
});
