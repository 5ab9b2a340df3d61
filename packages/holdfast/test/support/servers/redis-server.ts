/**
 * A real redis-server for a test: its own port, its own folder, no persistence unless asked for. It can be
 * killed, frozen and started again, and it is never left running.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { guardProcess, makeGuardedFolder, removeGuardedFolder } from '../processes/process-guard.ts';
import { freePort } from './free-port.ts';
import { askAll } from './raw-redis.ts';
import { RespError, type RespValue } from './resp.ts';
import { type RedisOptions, serverArgs } from './server-args.ts';
import { USUAL_SERVER } from './server-program.ts';

const START_LIMIT_MS = 60_000;
const START_POLL_MS = 10;
const START_TRIES_MAX = 10;
/** A healthy server without persistence ends within milliseconds; one in a long script never does. */
const STOP_LIMIT_MS = 2_000;

class PortTakenError extends Error {}

const servers = new Set<RedisServer>();

export class RedisServer {
  readonly #options: RedisOptions;
  #port = 0;
  #dir = '';
  #child: ChildProcess | null = null;
  #exited: Promise<void> = Promise.resolve();
  #output = '';
  #isFrozen = false;

  /** Not started yet: `startRedis` and `useRedis` do that. */
  constructor(options: RedisOptions = {}) {
    this.#options = options;
  }

  /** Stays the same over `restart()`. */
  get port(): number {
    if (this.#port === 0)
      throw new Error('the redis-server of this file is not started yet: ask inside a test');
    return this.#port;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  get dir(): string {
    return this.#dir;
  }

  /** Of the process that runs now; changes over `restart()`. */
  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error(`the redis-server on port ${this.#port} is not running`);
    return pid;
  }

  /** Whether the process exists. A frozen server is running. */
  get isRunning(): boolean {
    return this.#child !== null;
  }

  get isFrozen(): boolean {
    return this.isRunning && this.#isFrozen;
  }

  /** What the process has logged, over all its lives. */
  get output(): string {
    return this.#output;
  }

  async start(): Promise<void> {
    if (this.isRunning) throw new Error(`the redis-server on port ${this.#port} is running already`);
    if (this.#dir === '') this.#dir = this.#options.dir ?? makeGuardedFolder('holdfast-redis-');
    servers.add(this);
    if (this.#port !== 0) return await this.#launch();
    if (this.#options.port !== undefined) {
      this.#port = this.#options.port;
      return await this.#launch();
    }
    await this.#launchOnFreePort();
  }

  /** Ends it and removes its folder. Harmless when it has ended. */
  async stop(): Promise<void> {
    await this.#terminate();
    servers.delete(this);
    removeGuardedFolder(this.#dir);
    this.#dir = '';
  }

  /** As a crash: no shutdown, nothing saved. The port and the folder are kept for `restart()`. */
  async kill(): Promise<void> {
    if (this.#child === null) return;
    holdProcess(this.#child, true);
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  /** Starts it again on the same port and folder with the same arguments; a running one is shut down first. */
  async restart(): Promise<void> {
    if (this.#port === 0 || this.#dir === '')
      throw new Error('only a server that was started can be restarted');
    await this.#terminate();
    await this.#launch();
  }

  /** Stops its process in its tracks: connections stay, the kernel still accepts, nothing answers. */
  freeze(): void {
    process.kill(this.pid, 'SIGSTOP');
    this.#isFrozen = true;
  }

  resume(): void {
    process.kill(this.pid, 'SIGCONT');
    this.#isFrozen = false;
  }

  /** Whatever a test did to it, it answers again. */
  async ensureUp(): Promise<void> {
    if (this.isFrozen) this.resume();
    if (!this.isRunning) await this.restart();
  }

  async #terminate(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    // A frozen process does not hear SIGTERM, and waking it would let it run what has piled up.
    if (this.#isFrozen) return await this.kill();
    holdProcess(child, true);
    child.kill('SIGTERM');
    const killer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
    await this.#exited;
    clearTimeout(killer);
  }

  async #launchOnFreePort(): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      this.#port = await freePort();
      try {
        return await this.#launch();
      } catch (error) {
        if (!(error instanceof PortTakenError) || tries === START_TRIES_MAX) throw error;
      }
    }
  }

  async #launch(): Promise<void> {
    const outputBefore = this.#output.length;
    const { program = USUAL_SERVER } = this.#options;
    const [command = '', ...before] = program.command;
    const child = spawn(command, [...before, ...serverArgs(this.#options, this.#port, this.#dir)], {
      cwd: this.#dir,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.#isFrozen = false;
    this.#exited = this.#watch(child);
    guardProcess(child);
    try {
      await this.#untilUp(child, outputBefore);
      // A script that forgets `stop()` ends all the same, and its end kills the server.
      holdProcess(child, false);
    } catch (error) {
      child.kill('SIGKILL');
      await this.#exited;
      throw error;
    }
  }

  #watch(child: ChildProcess): Promise<void> {
    const record = (chunk: Buffer): void => {
      this.#output += chunk.toString();
    };
    child.stdout?.on('data', record);
    child.stderr?.on('data', record);
    return new Promise((resolve) => {
      const ended = (): void => {
        if (this.#child === child) this.#child = null;
        resolve();
      };
      // `close`, not `exit`: it comes when the output is complete.
      child.once('close', ended);
      child.once('error', (error) => {
        this.#output += error.message;
        ended();
      });
    });
  }

  async #untilUp(child: ChildProcess, outputBefore: number): Promise<void> {
    const deadline = performance.now() + START_LIMIT_MS;
    while (performance.now() < deadline) {
      if (this.#child !== child) {
        const output = this.#output.slice(outputBefore);
        const said = `redis-server did not start on port ${this.#port}:\n${output}`;
        throw /address already in use/i.test(output) ? new PortTakenError(said) : new Error(said);
      }
      if (await this.#answers(child)) return;
      await sleep(START_POLL_MS);
    }
    throw new Error(`redis-server did not answer on port ${this.#port} within ${START_LIMIT_MS} ms`);
  }

  /**
   * Any reply counts, NOAUTH included. The process number is compared because another test's server may own the port,
   * and answer, while ours is still finding out that it cannot have it.
   */
  async #answers(child: ChildProcess): Promise<boolean> {
    try {
      const [pong, info] = await askAll(this.#port, [['PING'], ['INFO', 'server']], 1_000);
      if (this.#options.loadDelayUs === undefined && isLoading(pong)) return false;
      if (info instanceof RespError) return true;
      return new RegExp(`^process_id:${child.pid}\\r?$`, 'm').test(String(info));
    } catch {
      return false;
    }
  }
}

export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const server = new RedisServer(options);
  try {
    await server.start();
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** Stops every server of this process that was started and not stopped. */
export async function stopAllRedis(): Promise<void> {
  await Promise.all([...servers].map((server) => server.stop()));
}

/**
 * One server for a test file, started before its tests. At the end of the file it is stopped, and with it every
 * other server that the file's tests started. Each test finds it up, whatever the one before did to it.
 */
export function useRedis(options: RedisOptions = {}): RedisServer {
  const server = new RedisServer(options);
  beforeAll(() => server.start());
  beforeEach(() => server.ensureUp());
  afterAll(stopAllRedis);
  return server;
}

function isLoading(reply: RespValue | undefined): boolean {
  return reply instanceof RespError && reply.text.startsWith('LOADING');
}

/** Whether our process stays alive for this child and its output. */
function holdProcess(child: ChildProcess, isHeld: boolean): void {
  const verb = isHeld ? 'ref' : 'unref';
  child[verb]();
  // The pipes are sockets, which have these verbs although their types do not say so.
  (child.stdout as Socket | null)?.[verb]();
  (child.stderr as Socket | null)?.[verb]();
}
