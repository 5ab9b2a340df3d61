/** A server that the benchmark starts as a child process, on a loopback port. It ends with the process that started it. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface RunningServer extends AsyncDisposable {
  readonly port: number;
  readonly pid: number;
}

export interface ChildServer extends RunningServer {
  signal(name: NodeJS.Signals): void;
  /** Ends the server at once, like a machine that loses power. */
  kill(): Promise<void>;
}

export interface ServerCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly port: number;
  /** How long the server may take until it answers on its port. */
  readonly startMsMax: number;
  /** The signal that ends the server at once. SIGKILL, unless it would leave child processes or shared memory behind. */
  readonly endSignal?: NodeJS.Signals;
  readonly options?: SpawnOptions;
}

export async function freePort(): Promise<number> {
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

async function untilUp(server: ChildProcess, { program, port, startMsMax }: ServerCommand): Promise<void> {
  for (const startedMs = performance.now(); performance.now() - startedMs < startMsMax; ) {
    if (server.exitCode !== null) throw new Error(`${program} ended with ${server.exitCode}`);
    if (await answers(port)) return;
    await sleep(20);
  }
  throw new Error(`${program} did not answer on port ${port} within ${startMsMax} ms`);
}

export async function startChildServer(command: ServerCommand): Promise<ChildServer> {
  const { program, args, port, endSignal = 'SIGKILL', options = {} } = command;
  const server = spawn(program, args, { stdio: 'ignore', ...options });
  const end = (): void => void server.kill(endSignal);
  process.once('exit', end);
  const kill = async (): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, 'exit');
    end();
    await ended;
  };
  const dispose = async (): Promise<void> => {
    process.off('exit', end);
    await kill();
  };
  try {
    await once(server, 'spawn');
    await untilUp(server, command);
  } catch (error) {
    if (server.pid !== undefined) await dispose();
    throw error;
  }
  return {
    port,
    // Known, because the program was spawned.
    pid: server.pid as number,
    signal: (name) => void server.kill(name),
    kill,
    [Symbol.asyncDispose]: dispose,
  };
}
