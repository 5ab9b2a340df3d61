/** `dev`: a Redis for local work that other commands can use. */
import { expect, test } from 'vitest';
import { freePort } from '../../holdfast/test/support/servers/free-port.ts';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { holdfast, start } from './support/holdfast.ts';
import { readAs } from './support/schema.ts';

test('runs until it is told to end, and locks work on it', async () => {
  const running = start(['dev', '--port', '0', '--json']);
  await running.says('\n');
  const { url } = readAs<{ url: string }>('dev', running.stdout);
  expect(await holdfast(['run', '--redis', url, 'job', '--', 'echo', 'on'])).toMatchObject({
    code: 0,
    stdout: 'on\n',
  });
  running.kill('SIGINT');
  expect(await running.ended).toMatchObject({ code: 0, stderr: '' });
});

test('hangs up on a web page that posts commands, and warns', async () => {
  const running = start(['dev', '--port', '0', '--json']);
  await running.says('\n');
  const { url } = readAs<{ url: string }>('dev', running.stdout);
  const port = Number(new URL(url).port);
  const posted = fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'SET stolen yes\r\n' });
  await expect(posted).rejects.toThrow('fetch failed');
  expect(await ask(port, ['GET', 'stolen'])).toBeNull();
  await waitFor(() => running.stderr !== '', { what: 'a warning' });
  expect(running.stderr).toMatch(
    new RegExp(`^holdfast: warning: an HTTP request came to the Redis port ${port}, [^\\n]*\\n$`),
  );
  running.kill('SIGINT');
  expect(await running.ended).toMatchObject({ code: 0 });
});

test('says that a port is taken', async () => {
  const port = String(await freePort());
  const first = start(['dev', '--port', port]);
  await first.says(`redis://127.0.0.1:${port}`);
  const second = await holdfast(['dev', '--port', port]);
  expect(second).toMatchObject({ code: 69, stdout: '' });
  expect(second.stderr).toBe(`holdfast: port ${port} is taken: choose another with --port, or 0 for any\n`);
  first.kill('SIGTERM');
  expect(await first.ended).toMatchObject({ code: 0, stderr: '' });
});
