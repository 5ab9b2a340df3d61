/** Channels of a shard that a server takes back, at moments that a real one is rarely caught at. */
import { createServer, type Server, type Socket } from 'node:net';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { asIoredis, IoredisDriver } from '../../../src/clients/ioredis/ioredis.ts';
import { type OwnedClient, ownedClient } from '../../../src/clients/owned-client.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { TimerQueue } from '../../../src/runtime/timer-queue.ts';
import { freePort } from '../../support/servers/free-port.ts';
import { RespReader } from '../../support/servers/resp.ts';
import { waitFor } from '../../support/wait-for.ts';
import { failureOf } from '../harness.ts';

const MOVED = 'MOVED 1 127.0.0.1:1';
const sockets = new Set<Socket>();
const asked: string[] = [];
let answers: string[] = [];
let server: Server;
let client: OwnedClient;

/** What a server says of a channel, in one piece with whatever follows it. */
const said = (verb: string, channel: string, count: number): string =>
  `>3\r\n$${verb.length}\r\n${verb}\r\n$${channel.length}\r\n${channel}\r\n:${count}\r\n`;

beforeEach(async () => {
  asked.length = 0;
  const port = await freePort();
  server = createServer((socket) => {
    const reader = new RespReader();
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      for (const { value } of reader.push(chunk)) {
        const [verb, channel] = value as string[];
        if (verb?.toLowerCase() !== 'ssubscribe') {
          socket.write('+OK\r\n');
          continue;
        }
        asked.push(String(channel));
        socket.write(answers.shift() ?? `-${MOVED}\r\n`);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const caller = new Redis({ host: '127.0.0.1', port, lazyConnect: true });
  const driver = new IoredisDriver(asIoredis(caller));
  client = ownedClient(driver, { timers: new TimerQueue(systemClock), random: systemRandom });
});

afterEach(async () => {
  await client.close();
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await new Promise((resolve) => server.close(resolve));
});

test('one that is taken back in the packet that confirms it is asked for again, and where it went is told', async () => {
  answers = [said('ssubscribe', 'news', 1) + said('sunsubscribe', 'news', 0)];
  const result = await client.listenToShard('news', () => {}, 5_000);
  expect(failureOf(result).text).toBe(MOVED);
  expect(asked).toEqual(['news', 'news']);
});

test('one that is asked for while another is taken back is confirmed, and asked for once', async () => {
  answers = [said('ssubscribe', 'old', 1), said('sunsubscribe', 'old', 0) + said('ssubscribe', 'new', 1)];
  expect(await client.listenToShard('old', () => {}, 5_000)).toBeTypeOf('function');
  expect(await client.listenToShard('new', () => {}, 5_000)).toBeTypeOf('function');
  await waitFor(() => asked.length === 3, { what: 'the one that was taken back to be asked for' });
  expect(asked).toEqual(['old', 'new', 'old']);
});
