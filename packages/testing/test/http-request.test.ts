/** A web page that posts to the port of the embedded node runs no command there, as with Redis. */
import { Buffer } from 'node:buffer';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { RawConnection } from '../../holdfast/test/support/servers/raw-connection.ts';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { EmbeddedNode } from '../src/index.ts';

const redis = useRedis();

const BODY = 'SET stolen yes\r\nDEL precious\r\n';
const FORM =
  'POST / HTTP/1.1\r\nHost: 127.0.0.1:6379\r\nOrigin: http://evil.example\r\n' +
  `Content-Type: text/plain\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;

const REQUESTS: readonly (readonly [string, string])[] = [
  ['a form that is posted', FORM],
  ['a post in small letters', `post / HTTP/1.1\r\n${BODY}`],
  ['a request of another method, from its Host line on', `PUT / HTTP/1.1\r\nHost: a\r\n\r\n${BODY}`],
  ['a Host line alone', `hOsT: a\r\n${BODY}`],
  ['the word POST as a client sends it', `*1\r\n$4\r\nPOST\r\n${BODY}`],
  ['a post within a transaction', `MULTI\r\nPOST /\r\n${BODY}EXEC\r\n`],
];

beforeEach(() => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  onTestFinished(() => warn.mockRestore());
});

/** Sends it to a port where `precious` is kept, and gives what is there once the connection has been closed. */
async function post(port: number, bytes: string): Promise<unknown> {
  await ask(port, ['DEL', 'stolen']);
  await ask(port, ['SET', 'precious', 'here']);
  const connection = new RawConnection(port);
  connection.write(Buffer.from(bytes));
  await waitFor(() => connection.isClosed, { what: 'a connection that is closed', limitMs: 20_000 });
  return [await ask(port, ['GET', 'stolen']), await ask(port, ['GET', 'precious'])];
}

describe.each(REQUESTS)('%s', (_what, bytes) => {
  test('is hung up on by the embedded node, as by Redis, and runs nothing', async () => {
    await using node = new EmbeddedNode();
    const { port } = await node.listen();
    expect(await post(port, bytes)).toEqual([null, 'here']);
    expect(await post(redis.port, bytes)).toEqual([null, 'here']);
  });
});

test('a request that comes in pieces is hung up on at its first line', async () => {
  await using node = new EmbeddedNode();
  const { port } = await node.listen();
  await ask(port, ['SET', 'precious', 'here']);
  const connection = new RawConnection(port);
  for (const piece of ['PO', 'ST / HTTP/1.1', '\r\nSET stolen yes\r\n']) connection.write(Buffer.from(piece));
  await waitFor(() => connection.isClosed, { what: 'a connection that is closed', limitMs: 20_000 });
  expect(await ask(port, ['GET', 'stolen'])).toBeNull();
});

test('what was hung up on is warned of once a port', async () => {
  await using node = new EmbeddedNode();
  const { port } = await node.listen();
  await post(port, FORM);
  await post(port, FORM);
  expect(process.emitWarning).toHaveBeenCalledExactlyOnceWith(
    expect.stringContaining(`an HTTP request came to the Redis port ${port}`),
    { type: 'HoldfastWarning', code: 'HOLDFAST_HTTP_REQUEST' },
  );
});

test('a command whose name only begins with the word is a command like others', async () => {
  await using node = new EmbeddedNode();
  const { port } = await node.listen();
  const connection = new RawConnection(port);
  connection.write(Buffer.from('POSTX\r\nPING\r\n'));
  expect((await connection.heard(2))[1]).toBe('PONG');
  expect(connection.isClosed).toBe(false);
  connection.close();
});
