/** What can be wrong with the servers: one clear line and the right exit code, within seconds. */
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../holdfast/test/support/servers/free-port.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { holdfast, type Ran } from './support/holdfast.ts';
import { startSentinel } from './support/sentinel.ts';

/** From the start of the process to its end: far more than it takes on a busy machine, far less than for ever. */
const LIMIT_MS = 60_000;

const redis = useRedis();
const locked = useRedis({ args: ['--requirepass', 'secret'] });
let web: Server;
let silent: Server;

async function listening(server: Server): Promise<Server> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

beforeAll(async () => {
  web = await listening(createHttpServer((_request, response) => response.end('hello')));
  silent = await listening(createServer(() => {}));
});

afterAll(() => {
  web.close();
  silent.close();
});

const at = (port: number, login = ''): string => `redis://${login}127.0.0.1:${port}`;

function expectOneLine({ code, stdout, stderr, tookMs }: Ran, exit: number, line: RegExp): void {
  expect(stderr).toMatch(line);
  expect(stderr.match(/\n/g)).toHaveLength(1);
  expect({ code, stdout }).toEqual({ code: exit, stdout: '' });
  expect(tookMs).toBeLessThan(LIMIT_MS);
}

describe.concurrent('a server that', () => {
  const rows: readonly (readonly [string, () => Promise<string> | string, number, RegExp])[] = [
    ['is down', async () => at(await freePort()), 69, /^holdfast: redis:\S+: nothing listens there/],
    ['does not answer', () => at(portOf(silent)), 69, /^holdfast: redis:\S+: no answer within 2 s\n/],
    ['has no address', () => 'redis://nowhere.invalid', 69, /the name of the host cannot be resolved\n$/],
    ['is no Redis', () => at(portOf(web)), 76, /what answers there is not a Redis server\n$/],
    ['speaks no TLS', () => `rediss://127.0.0.1:${portOf(web)}`, 76, /does not speak TLS\n$/],
    [
      'waits for plain words',
      () => `rediss://127.0.0.1:${redis.port}`,
      76,
      /the server does not speak TLS: use redis:\/\/ in place of rediss:\/\/\n$/,
    ],
    ['wants a password', () => at(locked.port), 77, /asks for a password, and none was given\n$/],
    [
      'wants another password',
      () => at(locked.port, ':wrong@'),
      77,
      /refuses this user name and password\n$/,
    ],
    ['has no such database', () => `${redis.url}/99`, 64, /the server has no such database\n$/],
    [
      'has no socket there',
      () => 'unix:///nowhere/redis.sock',
      69,
      /unix:\/\/\S+: there is no such socket\n$/,
    ],
  ];
  test.each(rows)('%s is told in one line', async (_what, url, exit, line) => {
    expectOneLine(await holdfast(['run', '--redis', await url(), 'job', '--', 'echo', 'never']), exit, line);
  });
});

test('a right password is right in the URL and in the environment, and is never shown', async () => {
  const byUrl = await holdfast(['run', '--redis', at(locked.port, ':secret@'), 'job', '--', 'echo', 'on']);
  expect(byUrl).toMatchObject({ code: 0, stdout: 'on\n', stderr: '' });
  const env = { HOLDFAST_REDIS_URL: at(locked.port), HOLDFAST_REDIS_PASSWORD: 'secret' };
  expect(await holdfast(['run', 'job', '--', 'echo', 'on'], { env })).toMatchObject({
    code: 0,
    stdout: 'on\n',
  });
  const wrong = await holdfast(['run', '--redis', 'http://user:secret@host', 'job', '--', 'true']);
  expect(wrong.stderr).not.toContain('secret');
  expect(wrong.code).toBe(64);
});

test('a primary behind a sentinel is found by its name', async () => {
  const sentinel = await startSentinel('shop', redis.port);
  const known = ['--sentinel', `127.0.0.1:${sentinel}`, '--sentinel-name'];
  const found = await holdfast(['run', ...known, 'shop', 'job', '--', 'echo', 'on']);
  expect(found).toMatchObject({ code: 0, stdout: 'on\n', stderr: '' });
  const other = await holdfast(['run', ...known, 'other', 'job', '--', 'echo', 'on']);
  expectOneLine(other, 69, /^holdfast: "other" by sentinel 127\.0\.0\.1:\d+: All sentinels are unreachable/);
});
