/** One instance of the shop: a process of its own, spoken to over HTTP. The code is examples/inventory, as it stands. */
import { type ChildProcess, spawn } from 'node:child_process';
import { Agent, request } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Failure } from '../failure.ts';
import { guardChild } from './guarded-child.ts';

const MAIN = fileURLToPath(new URL('../inventory/main.js', import.meta.url));
const START_MS_MAX = 15_000;

export interface ShopTerms {
  readonly urls: readonly string[];
  readonly item: string;
  readonly leaseMs: number;
  readonly isCareless: boolean;
}

export interface Answer {
  readonly result: 'sold' | 'sold out' | 'refused';
  readonly left?: number;
  readonly fence?: number | null;
}

export interface StockAnswer {
  readonly left: number;
  readonly session: string;
  readonly selling: number | null;
}

export class ShopProcess {
  readonly number: number;
  readonly session: string;
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  #isOpen = true;

  private constructor(number: number, child: ChildProcess, port: number, session: string) {
    this.number = number;
    this.#child = child;
    this.#port = port;
    this.session = session;
    this.ended = new Promise((resolve) => child.once('exit', () => resolve()));
    void this.ended.then(() => {
      this.#isOpen = false;
    });
  }

  static async start(number: number, terms: ShopTerms): Promise<ShopProcess> {
    const args = [
      ...terms.urls.flatMap((url) => ['--redis', url]),
      ...['--item', terms.item, '--lease-ms', String(terms.leaseMs)],
      ...(terms.isCareless ? ['--careless'] : []),
    ];
    const child = spawn(process.execPath, [MAIN, ...args], {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    guardChild(child);
    const { port, session } = await firstLine(child);
    return new ShopProcess(number, child, port, session);
  }

  /** Whether buyers can go there. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Rejects when the instance goes away before it has answered. */
  sell(thinkMs = 0): Promise<Answer> {
    return this.#ask('POST', thinkMs === 0 ? '/sale' : `/sale?thinkMs=${thinkMs}`);
  }

  stock(): Promise<StockAnswer> {
    return this.#ask('GET', '/stock');
  }

  /** No goodbye. Nobody goes there any more. */
  kill(): void {
    this.#isOpen = false;
    this.#child.kill('SIGKILL');
  }

  freeze(): void {
    this.#child.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child.kill('SIGCONT');
  }

  /** In good order. */
  async close(): Promise<void> {
    this.#agent.destroy();
    this.thaw();
    this.#child.kill('SIGTERM');
    await this.ended;
  }

  #ask<Body>(method: string, path: string): Promise<Body> {
    return new Promise((resolve, reject) => {
      const asked = request(
        { host: '127.0.0.1', port: this.#port, method, path, agent: this.#agent },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk;
          });
          response.on('error', reject);
          response.on('end', () => {
            const status = response.statusCode ?? 0;
            // What the shop says is agreed with its code, which is ours.
            if (status < 500) resolve(JSON.parse(text) as Body);
            else reject(new Error(`shop ${this.number}: ${text}`));
          });
        },
      );
      asked.on('error', reject);
      asked.end();
    });
  }
}

function firstLine(child: ChildProcess): Promise<{ port: number; session: string }> {
  return new Promise((resolve, reject) => {
    let stderr = '';
    const fail = (why: string): void => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      reject(new Failure('internal', `a shop did not start: ${why}\n${stderr}`));
    };
    const timer = setTimeout(() => fail(`it said nothing within ${START_MS_MAX / 1000} s`), START_MS_MAX);
    child.stderr?.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    child.once('error', (error) => fail(error.message));
    child.once('exit', (code, signal) => fail(`it ended with ${signal ?? code}`));
    if (child.stdout === null) return fail('it has no output');
    createInterface({ input: child.stdout }).once('line', (line) => {
      clearTimeout(timer);
      child.removeAllListeners('exit');
      resolve(JSON.parse(line) as { port: number; session: string });
    });
  });
}
