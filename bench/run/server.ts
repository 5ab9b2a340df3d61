/** A redis-server for one run: on a free loopback port, without persistence. It ends with the process that started it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const START_MS_MAX = 5_000;

export interface BenchServer extends AsyncDisposable {
  readonly port: number;
  /** Pauses the server with its connections open, like a machine that hangs. */
  freeze(): void;
  /** Ends the server at once, like a machine that loses power. */
  kill(): Promise<void>;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('expected a port');
  return address.port;
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function untilUp(server: ChildProcess, port: number): Promise<void> {
  for (const startedMs = performance.now(); performance.now() - startedMs < START_MS_MAX; ) {
    if (server.exitCode !== null) throw new Error(`redis-server ended with ${server.exitCode}`);
    if (await answers(port)) return;
    await sleep(20);
  }
  throw new Error(`redis-server did not answer on port ${port} within ${START_MS_MAX} ms`);
}

export async function startServer(): Promise<BenchServer> {
  const port = await freePort();
  // The server saves nothing, but refuses to start without a folder it could write to.
  const dir = tmpdir();
  const args = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    '--dir',
    dir,
  ];
  const server = spawn('redis-server', args, { stdio: 'ignore' });
  const killServer = (): void => void server.kill('SIGKILL');
  process.once('exit', killServer);
  await untilUp(server, port);
  const kill = async (): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, 'exit');
    // Unlike SIGTERM, SIGKILL also ends a server that is paused. The server has nothing to save.
    server.kill('SIGKILL');
    await ended;
  };
  return {
    port,
    freeze: () => void server.kill('SIGSTOP'),
    kill,
    async [Symbol.asyncDispose]() {
      process.off('exit', killServer);
      await kill();
    },
  };
}
