/** What redlock 5 and its fork have in common: the calls and the settings, not the code behind them. */
import type { Redis } from 'ioredis';
import {
  type Contestant,
  type Entrant,
  LEASE_MS,
  README,
  RETRIES_ENDLESS,
  RETRY_MS_TUNED,
  TUNED,
} from '../contestant.ts';
import { ioredis } from './connection.ts';
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

interface RedlockSettings {
  readonly driftFactor: number;
  readonly retryCount: number;
  readonly retryDelay: number;
  readonly retryJitter: number;
  readonly automaticExtensionThreshold: number;
}

const README_SETTINGS: RedlockSettings = {
  driftFactor: 0.01,
  retryCount: 10,
  retryDelay: 200,
  retryJitter: 200,
  automaticExtensionThreshold: 500,
};
const TUNED_SETTINGS: RedlockSettings = {
  ...README_SETTINGS,
  retryCount: RETRIES_ENDLESS,
  retryDelay: RETRY_MS_TUNED,
  retryJitter: RETRY_MS_TUNED / 2,
};

type MakeRedlock = (clients: Redis[], settings: RedlockSettings) => RedlockLike;

/** As its README says, and tuned. */
export function redlockEntrants(id: string, name: string, make: MakeRedlock): readonly Entrant[] {
  return [false, true].map((isTuned): Entrant => {
    const settings = isTuned ? TUNED_SETTINGS : README_SETTINGS;
    return {
      id: isTuned ? `${id}-tuned` : id,
      name,
      settings: isTuned ? TUNED : README,
      role: 'peer',
      client: 'ioredis',
      isTuned,
      canKeep: true,
      sends: { evalsha: 1, eval: 1 },
      open: (port) => open([port], settings, make),
      openQuorum: (ports) => open(ports, settings, make),
    };
  });
}

async function open(
  ports: readonly number[],
  settings: RedlockSettings,
  make: MakeRedlock,
): Promise<Contestant> {
  const clients = ports.map((port) => ioredis(port));
  const redlock = make(clients, settings);
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
