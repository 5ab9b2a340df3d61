/** A sentinel that never says a word keeps nobody from the primary, and no process from its end. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PRIMARY } from '../../process/counter/task.ts';
import { type Child, startChild, useChildren } from '../../support/processes/child.ts';
import { type RedisServer, startRedis, useRedis } from '../../support/servers/redis-server.ts';

/** Far below what a connection that gets no answer is given. */
const AT_ONCE_MS = 1_500;

/** After how long a server on this machine that has not taken a connection has no room for it. */
const FULL_AFTER_MS = 400;

interface ChildLine {
  readonly word?: string;
  readonly livedOnMs?: number;
}

const primary = useRedis();
let sentinel: RedisServer;
beforeAll(async () => {
  sentinel = await startRedis({ sentinel: [`sentinel monitor ${PRIMARY} 127.0.0.1 ${primary.port} 1`] });
});
useChildren();

const sockets = new Set<Socket>();
const mute: Server = createServer((socket) => {
  sockets.add(socket.on('error', () => {}));
});
let full: RedisServer;

/** One takes connections and never answers; the other has no room for further ones, so that not even its kernel does. */
beforeAll(async () => {
  await once(mute.listen(0, '127.0.0.1'), 'listening');
  full = await startRedis({ args: ['--tcp-backlog', '1'] });
  full.freeze();
  for (let isFull = false; !isFull; ) {
    const socket = connect(full.port, '127.0.0.1').on('error', () => {});
    sockets.add(socket);
    const waited = AbortSignal.timeout(FULL_AFTER_MS);
    isFull = await once(socket, 'connect', { signal: waited }).then(
      () => false,
      () => true,
    );
  }
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  mute.close();
});

const PORTS = { mute: () => (mute.address() as AddressInfo).port, full: () => full.port };

describe.each(['ioredis', 'redis'])('a process with %s', (client) => {
  const start = (ending: string, ports: readonly number[]): Child<ChildLine> =>
    startChild('test/clients/fixtures/sentinel-leaver.ts', [client, ending, ...ports.map(String)]);

  test.each([
    ['mute', 'close'],
    ['mute', 'leave'],
    ['full', 'close'],
    ['full', 'leave'],
  ] as const)(
    'is served beside one that is %s, and ends at once when it is done: %s',
    async (kind, ending) => {
      const child = start(ending, [PORTS[kind](), sentinel.port]);
      expect(await child.exited, child.stderr).toEqual({ code: 0, signal: null });
      expect(child.lines.flatMap(({ word }) => word ?? [])).toEqual(['served']);
      expect(child.lines.at(-1)?.livedOnMs).toBeLessThan(AT_ONCE_MS);
    },
  );

  test.each(['mute', 'full'] as const)(
    'is refused in time when all are %s, and ends at once',
    async (kind) => {
      const child = start('close', [PORTS[kind]()]);
      expect(await child.exited, child.stderr).toEqual({ code: 0, signal: null });
      expect(child.lines[0]?.word).toMatch(/LockUnavailableError/);
      expect(child.lines.at(-1)?.livedOnMs).toBeLessThan(AT_ONCE_MS);
    },
  );
});
