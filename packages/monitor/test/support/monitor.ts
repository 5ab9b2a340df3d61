/** A monitor over a test server, and its answers as values. */
import { Locks, type LocksOptions, type RedisClient } from 'holdfast';
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { waitFor } from '../../../holdfast/test/support/wait-for.ts';
import type { LockDetail, Row, State } from '../../src/api/types.ts';
import { createMonitor, type Monitor, type MonitorOptions } from '../../src/index.ts';

/**
 * Closed after the test, the last first. Registered with the running test: a hook of this module would be in force for the
 * first test file of a process only, and what the others left open would go on asking the servers of later files.
 */
export function closing<Closable extends { close(): unknown }>(one: Closable): Closable {
  onTestFinished(async () => void (await one.close()));
  return one;
}

/** Longer than a busy machine stands still: the owners that are looked at must not fail before they are. */
const CALL_TIMEOUT_MS = 20_000;

/** A session of the library, whose locks the monitor sees. */
export function session(redis: RedisClient | readonly RedisClient[], options: LocksOptions = {}): Locks {
  return closing(new Locks(redis as RedisClient, { callTimeoutMs: CALL_TIMEOUT_MS, ...options }));
}

export function client(port: number, options: object = {}): Redis {
  const redis = new Redis(port, '127.0.0.1', { lazyConnect: true, ...options });
  redis.on('error', () => {});
  closing({ close: () => redis.disconnect() });
  return redis;
}

const BASE = 'http://localhost';

export class TestMonitor {
  readonly monitor: Monitor;

  constructor(options: MonitorOptions) {
    this.monitor = closing(createMonitor({ pageFolder: null, holdsMax: 10_000, ...options }));
  }

  get(path: string, headers: Record<string, string> = {}, address = '127.0.0.1'): Promise<Response> {
    return this.monitor.handle(
      new Request(`${BASE}/${path}`, { headers: { host: 'localhost', ...headers } }),
      {
        address,
      },
    );
  }

  post(
    path: string,
    body: unknown,
    headers: Record<string, string> = {},
    address = '127.0.0.1',
  ): Promise<Response> {
    const request = new Request(`${BASE}/${path}`, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { host: 'localhost', 'content-type': 'application/json', origin: BASE, ...headers },
    });
    return this.monitor.handle(request, { address });
  }

  async state(headers: Record<string, string> = {}): Promise<State> {
    const response = await this.get('api/v1/state', headers);
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    return (await response.json()) as State;
  }

  async detail(name: string): Promise<LockDetail> {
    return (await (await this.get(`api/v1/lock?name=${encodeURIComponent(name)}`)).json()) as LockDetail;
  }

  row(name: string): Row | undefined {
    return this.monitor.figures.read().locks.get(name);
  }

  /** Waits until the row is there and fits. */
  untilRow(name: string, fits: (row: Row) => boolean = () => true): Promise<Row> {
    return waitFor(
      () => {
        const row = this.row(name);
        return row !== undefined && fits(row) ? row : null;
      },
      { what: `a row of ${name} that fits ${fits}` },
    );
  }
}
