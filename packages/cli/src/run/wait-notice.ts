/** Prints who holds the lock that `run` waits for: on standard error, after a second, and again when the holder changes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { formatDuration } from '../duration.ts';
import { toFailure } from '../failure.ts';
import type { LockReader } from '../locks/lock-reader.ts';
import { describeHolder } from '../locks/lock-view.ts';
import { printNotice } from '../output.ts';
import { quote } from '../printable.ts';
import type { Servers } from '../servers/connection.ts';

/** Most waits are over by then. */
const FIRST_LOOK_MS = 1_000;
/** The pause doubles up to the maximum: a lock that changes hands all the time must not fill a log. */
const LOOK_EVERY_MS = 5_000;
const LOOK_EVERY_MS_MAX = 60_000;
/** A server tells its uptime in whole seconds. */
const UPTIME_ERROR_MS = 1_000;

interface Found {
  /** What the notice is about. It is printed again only when this differs. */
  readonly what: string;
  readonly text: string;
}

export class WaitNotice {
  readonly #reader: LockReader;
  readonly #servers: Servers;
  readonly #name: string;
  readonly #leaseMs: number;

  constructor(reader: LockReader, servers: Servers, name: string, leaseMs: number) {
    this.#reader = reader;
    this.#servers = servers;
    this.#name = name;
    this.#leaseMs = leaseMs;
  }

  /** Until the signal aborts. Never rejects: an error is printed as the reason for the wait. */
  async follow(signal: AbortSignal): Promise<void> {
    let last = '';
    let pauseMs = LOOK_EVERY_MS;
    await pause(FIRST_LOOK_MS, signal);
    while (!signal.aborted) {
      const found = await this.#look();
      if (signal.aborted) return;
      if (found !== null && found.what !== last) {
        last = found.what;
        printNotice(`waiting for lock ${quote(this.#name)}: ${found.text}`);
      }
      await pause(pauseMs, signal);
      pauseMs = Math.min(LOOK_EVERY_MS_MAX, pauseMs * 2);
    }
  }

  async #look(): Promise<Found | null> {
    try {
      const found = await this.#reader.inspect(this.#name);
      if (found === null || found.kind === 'free') return await this.#lookAtServers();
      if (found.kind === 'other') return null;
      const view = await this.#reader.view(found);
      // Our own acquire was granted, and its reply is still on its way.
      if (view.session === this.#reader.locks.session) return null;
      const what = [view.owner, view.fence].join(' ');
      return { what, text: `${describeHolder(view)} holds it` };
    } catch (error) {
      return { what: 'outage', text: toFailure(error).message };
    }
  }

  /** Nobody holds the lock. In a quorum, servers that were started a moment ago do not vote yet. */
  async #lookAtServers(): Promise<Found | null> {
    const { up, clients, cluster } = this.#servers;
    if (cluster !== null || clients.length < 2) return null;
    const waits = await Promise.all(
      up.map(async ({ label, redis }) => {
        const info = await redis.info('server').catch(() => '');
        const uptime = /^uptime_in_seconds:(\d+)/m.exec(info)?.[1];
        return {
          label,
          waitMs: uptime === undefined ? 0 : this.#leaseMs + UPTIME_ERROR_MS - Number(uptime) * 1000,
        };
      }),
    );
    const young = waits.filter(({ waitMs }) => waitMs > 0);
    if (young.length === 0) return null;
    const labels = young.map(({ label }) => label).join(', ');
    const longest = Math.max(...young.map(({ waitMs }) => waitMs));
    const rule = `a server of a quorum does not vote before it has been up for the lease of ${formatDuration(this.#leaseMs)}`;
    return {
      what: 'young',
      text: `nobody holds it, but ${rule}: ${labels} in about ${formatDuration(longest)}`,
    };
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal, ref: false }).catch(() => {});
}
