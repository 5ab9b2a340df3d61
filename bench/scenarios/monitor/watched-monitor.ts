/** A monitor in a process of its own, and what it takes: CPU, memory, and what it shows. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { processCpuMs } from '../../measure/cpu-time.ts';

const PROGRAM = fileURLToPath(new URL('monitor-process.mjs', import.meta.url));

/** The parts of its state that are of use here. */
export interface MonitorState {
  readonly totals: { readonly held: number };
}

export class WatchedMonitor implements AsyncDisposable {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  static async start(port: number): Promise<WatchedMonitor> {
    const child = spawn(process.execPath, [PROGRAM, String(port)], { stdio: ['ignore', 'pipe', 'inherit'] });
    process.once('exit', () => child.kill('SIGKILL'));
    const said: Buffer[] = await once(child.stdout, 'data');
    return new WatchedMonitor(child, String(said[0]).trim());
  }

  get cpuMs(): number {
    return processCpuMs(this.#child.pid ?? 0);
  }

  /** The most that it ever had in memory. */
  get peakMb(): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8');
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1_024;
  }

  async state(): Promise<MonitorState> {
    return (await (await fetch(`${this.url}api/v1/state`)).json()) as MonitorState;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}
