import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { afterAll, describe, expect, test } from 'vitest';
import { startChild, useChildren } from '../support/processes/child.ts';
import { guardedPids } from '../support/processes/process-guard.ts';
import { freePort } from '../support/servers/free-port.ts';
import { ask } from '../support/servers/raw-redis.ts';
import { startRedis, stopAllRedis, useRedis } from '../support/servers/redis-server.ts';
import { waitFor } from '../support/wait-for.ts';

/** A process that ended and whose parent is gone may linger as a zombie: it is dead all the same. */
async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return !/\) Z /.test(stat);
}

/** Node takes seconds to start on a busy machine. */
const SLOW = { timeout: 150_000 };

describe('a server', SLOW, () => {
  afterAll(stopAllRedis);

  test('answers as soon as it is started, and is gone with its folder when it is stopped', async () => {
    const server = await startRedis();
    const { pid, dir } = server;
    expect(await ask(server.port, ['PING'])).toBe('PONG');
    expect(server.url).toBe(`redis://127.0.0.1:${server.port}`);
    expect(existsSync(dir)).toBe(true);
    await server.stop();
    expect(server.isRunning).toBe(false);
    expect(await isAlive(pid)).toBe(false);
    expect(existsSync(dir)).toBe(false);
  });

  test('that is stopped twice stays stopped', async () => {
    const server = await startRedis();
    await server.stop();
    await server.stop();
    expect(server.isRunning).toBe(false);
  });

  test('keeps its port and forgets its keys over a crash', async () => {
    const server = await startRedis();
    const { port, pid } = server;
    await ask(port, ['SET', 'k', 'v']);
    await server.kill();
    await expect(ask(port, ['PING'])).rejects.toThrow('ECONNREFUSED');
    await server.restart();
    expect(server.port).toBe(port);
    expect(server.pid).not.toBe(pid);
    expect(await ask(port, ['GET', 'k'])).toBe(null);
    await server.stop();
  });

  test('remembers its keys over a restart when its arguments ask for persistence', async () => {
    const server = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    await ask(server.port, ['SET', 'k', 'v']);
    await server.restart();
    await waitFor(async () => (await ask(server.port, ['GET', 'k'])) === 'v', { what: 'the key to be back' });
    await server.stop();
  });

  test('that is frozen is silent, and answers what was asked when it is resumed', async () => {
    const server = await startRedis();
    server.freeze();
    await expect(ask(server.port, ['PING'], 50)).rejects.toThrow('no reply');
    const reply = ask(server.port, ['PING']);
    server.resume();
    expect(await reply).toBe('PONG');
    await server.stop();
  });

  test('that is frozen is stopped', async () => {
    const server = await startRedis();
    const { pid } = server;
    server.freeze();
    await server.stop();
    expect(await isAlive(pid)).toBe(false);
  });

  test('that cannot have the port it must have says so', async () => {
    const port = await freePort();
    const squatter = createServer().listen(port, '127.0.0.1');
    await expect(startRedis({ port })).rejects.toThrow(/did not start on port .*already in use/is);
    squatter.close();
  });

  test('with a wrong argument tells what the server said, and leaves nothing', async () => {
    const before = guardedPids();
    await expect(startRedis({ args: ['--no-such-setting', '1'] })).rejects.toThrow('no-such-setting');
    expect(guardedPids()).toEqual(before);
  });
});

describe('the server of a file', () => {
  const server = useRedis();

  test('is up when a test begins', async () => {
    expect(await ask(server.port, ['PING'])).toBe('PONG');
    await server.kill();
  });

  test('is up again after a test that killed it', async () => {
    expect(await ask(server.port, ['PING'])).toBe('PONG');
    server.freeze();
  });

  test('is up again after a test that froze it', async () => {
    expect(await ask(server.port, ['PING'])).toBe('PONG');
  });
});

describe('a process that started servers', SLOW, () => {
  useChildren();
  const FILE = 'test/support-tests/fixtures/server-owner.ts';

  test.each([
    ['exits by itself', 'exit'],
    ['is ended by a signal it does not handle', 'SIGTERM'],
    ['is killed', 'SIGKILL'],
    ['fails with an exception', 'throw'],
  ])('leaves neither them nor their folders when it %s', async (_, ending) => {
    const owner = startChild<{ pids: number[]; dirs: string[] }>(FILE, [ending]);
    const { pids, dirs } = await owner.next();
    expect(pids).toHaveLength(2);
    owner.send('end');
    await owner.exited;
    for (const pid of pids) {
      await waitFor(async () => !(await isAlive(pid)), { what: `server ${pid} to be gone` });
    }
    await waitFor(() => !dirs.some(existsSync), { what: 'the folders to be gone' });
  });
});

test('a process that ended is no longer under guard', async () => {
  const server = await startRedis();
  const { pid } = server;
  expect(guardedPids()).toContain(pid);
  await server.stop();
  expect(guardedPids()).not.toContain(pid);
});
