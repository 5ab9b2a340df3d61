/** What redlock 5 and its fork have in common: the calls, not the code behind them. */
import type { Redis } from 'ioredis';
import { type Contestant, LEASE_MS } from '../contestant.ts';
import { keepInside } from './keep-inside.ts';

interface Signal {
  readonly aborted: boolean;
}

interface RedlockLike {
  on(event: 'error', listener: () => void): unknown;
  acquire(resources: string[], durationMs: number): Promise<{ release(): Promise<unknown> }>;
  using<Result>(
    resources: string[],
    durationMs: number,
    routine: (signal: Signal) => Promise<Result>,
  ): Promise<Result>;
}

export function redlockContestant(redlock: RedlockLike, clients: readonly Redis[]): Contestant {
  // It reports every refused attempt as an error event, and an error event nobody hears ends the process.
  redlock.on('error', () => {});
  return {
    async take(key) {
      const lock = await redlock.acquire([key], LEASE_MS);
      return () => lock.release();
    },
    bare: (key) => redlock.acquire([key], LEASE_MS),
    keep: (key, leaseMs) => keepInside((body) => redlock.using([key], leaseMs, body)),
    async close() {
      for (const client of clients) client.disconnect();
    },
  };
}
