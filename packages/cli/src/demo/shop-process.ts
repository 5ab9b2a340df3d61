/** One instance of the shop: a process of its own, spoken to over HTTP. The code is examples/inventory, as it stands. */
import type { ChildProcess } from 'node:child_process';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { startProcess } from './demo-process.ts';

const MAIN = fileURLToPath(new URL('../inventory/main.js', import.meta.url));

export interface ShopTerms {
  readonly urls: readonly string[];
  readonly item: string;
  readonly leaseMs: number;
  readonly isCareless: boolean;
  /** A file of SQLite that has the stock; null where Redis has it. */
  readonly database: string | null;
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
    const options = ['--item', terms.item, '--lease-ms', String(terms.leaseMs)];
    const stock = terms.database === null ? [] : ['--database', terms.database];
    const args = [MAIN, ...options, ...stock, ...(terms.isCareless ? ['--careless'] : [])];
    // Not among the arguments, which everybody on the machine can read: a URL may have a password.
    const environment = { REDIS_URL: terms.urls.join(' ') };
    const { child, line } = await startProcess<{ port: number; session: string }>(
      `shop ${number}`,
      args,
      environment,
    );
    return new ShopProcess(number, child, line.port, line.session);
  }

  /** Whether buyers can go there. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Rejects when the instance goes away before it has answered. */
  sell(thinkMs = 0): Promise<Answer> {
    return this.#ask('POST', thinkMs === 0 ? '/sale' : `/sale?thinkMs=${thinkMs}`);
  }

  /** Sets how many items are left. */
  async restock(left: number): Promise<void> {
    await this.#ask('PUT', `/stock?left=${left}`);
  }

  stock(): Promise<StockAnswer> {
    return this.#ask('GET', '/stock');
  }

  /** With SIGKILL. Buyers avoid the shop from now on. */
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

  /** With SIGTERM: the shop releases its lock and ends. */
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
            // The shop is our own program, and answers with what its caller expects.
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
