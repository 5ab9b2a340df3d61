/** A redis-server for one run, without persistence. */
import { tmpdir } from 'node:os';
import { type ChildServer, freePort, type RunningServer, startChildServer } from './child-server.ts';

const START_MS_MAX = 5_000;

export interface RedisServer extends RunningServer {
  /** Pauses the server with its connections open, like a machine that hangs. */
  freeze(): void;
  kill: ChildServer['kill'];
}

export async function startRedis(): Promise<RedisServer> {
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const server = await startChildServer({
    program: 'redis-server',
    // The server saves nothing, but refuses to start without a folder it could write to.
    args: [...args, '--dir', tmpdir()],
    port,
    startMsMax: START_MS_MAX,
  });
  // SIGKILL, which ends it, also ends a server that is paused. The server has nothing to save.
  return { ...server, freeze: () => server.signal('SIGSTOP') };
}
