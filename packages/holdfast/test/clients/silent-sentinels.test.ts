/** A sentinel that never says a word keeps nobody from the primary, and no process from its end. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PRIMARY } from '../process/counter-task.ts';
import { startChild, useChildren } from '../support/child.ts';
import { type RedisServer, startRedis, useRedis } from '../support/redis-server.ts';

/** Far below what a connection that gets no answer is given. */
const AT_ONCE_MS = 1_500;

interface Line {
  readonly word?: string;
  readonly livedOnMs?: number;
}

const primary = useRedis();
let sentinel: RedisServer;
beforeAll(async () => {
  sentinel = await startRedis({ sentinel: [`sentinel monitor ${PRIMARY} 127.0.0.1 ${primary.port} 1`] });
});
useChildren();

/** Takes connections, and what is written to it. */
const sockets = new Set<Socket>();
const silent: Server = createServer((socket) => {
  sockets.add(socket.on('error', () => {}));
});
beforeAll(() => once(silent.listen(0, '127.0.0.1'), 'listening'));
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  silent.close();
});

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

describe.each(['ioredis', 'redis'])('a process with %s', (client) => {
  test.each(['close'])('is served, and ends at once when it is done: %s', async (ending) => {
    const ports = [portOf(silent), sentinel.port].map(String);
    const child = startChild<Line>('test/clients/fixtures/sentinel-leaver.ts', [client, ending, ...ports]);
    expect(await child.exited, child.stderr).toEqual({ code: 0, signal: null });
    expect(child.lines.flatMap(({ word }) => word ?? [])).toEqual(['served']);
    expect(child.lines.at(-1)?.livedOnMs).toBeLessThan(AT_ONCE_MS);
  });

  test('is refused in time when there is no other, and ends at once', async () => {
    const child = startChild<Line>('test/clients/fixtures/sentinel-leaver.ts', [
      client,
      'close',
      `${portOf(silent)}`,
    ]);
    expect(await child.exited, child.stderr).toEqual({ code: 0, signal: null });
    expect(child.lines[0]?.word).toMatch(/LockUnavailableError/);
    expect(child.lines.at(-1)?.livedOnMs).toBeLessThan(AT_ONCE_MS);
  });
});
