/** Whoever reads us may go at any time, as `head` does. */
import { spawn } from 'node:child_process';
import { expect, test } from 'vitest';
import { guardProcess } from '../../holdfast/test/support/processes/process-guard.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { MAIN } from './support/built-cli.ts';
import { holdAs } from './support/holders.ts';
import { environmentFor } from './support/holdfast.ts';

const redis = useRedis();
/** As old ones are, of which the client has something to say on its own. */
const old = useRedis({ args: ['--rename-command', 'HELLO', 'NOHELLO'] });

/** With one of its two outputs closed before it begins; what the other one got. */
async function withClosed(
  closed: 'stdout' | 'stderr',
  args: readonly string[],
): Promise<{ code: number | null; heard: string }> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: environmentFor({ HOLDFAST_REDIS_URL: redis.url }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  guardProcess(child);
  child[closed].destroy();
  let heard = '';
  child[closed === 'stdout' ? 'stderr' : 'stdout'].on('data', (chunk: Buffer) => {
    heard += chunk.toString();
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, heard };
}

test.each([[['ls', '--json']], [['completion', 'bash']], [['dev', '--port', '0']]])(
  '%j ends without a word, as by SIGPIPE, when nobody reads it',
  async (args) => {
    expect(await withClosed('stdout', args)).toEqual({ code: 141, heard: '' });
  },
);

test('watch ends in good order when nobody reads it', async () => {
  for (const name of ['one', 'two', 'three']) await holdAs(redis, name);
  expect(await withClosed('stdout', ['watch', '--every', '50ms'])).toEqual({ code: 0, heard: '' });
});

test('the exit code stays what it is when nobody reads the errors', async () => {
  await holdAs(redis, 'job');
  expect(await withClosed('stderr', ['run', '--no-wait', 'job', '--', 'true'])).toMatchObject({ code: 75 });
});

test('a command under a lock goes on when nobody reads the notices', async () => {
  const job = ['run', '--redis', old.url.replace('//', '//:unneeded@'), 'job', '--', 'echo', 'done'];
  expect(await withClosed('stderr', job)).toEqual({ code: 0, heard: 'done\n' });
});
