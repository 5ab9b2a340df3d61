/** redlock 5 and its fork: the same calls and settings, different code behind them. */
import type { Redis } from 'ioredis';
import { ioredis } from '../connection.ts';
import {
  LEASE_MS,
  type OpenParticipant,
  type Participant,
  RETRIES_ENDLESS,
  RETRY_MS_TUNED,
} from '../participant.ts';
import { type BothSettings, withBothSettings } from './both-settings.ts';
import { type LossSignal, leaseFromUsing } from './lease-from-using.ts';

interface RedlockLike {
  on(event: 'error', listener: () => void): unknown;
  acquire(resources: string[], durationMs: number): Promise<{ release(): Promise<unknown> }>;
  using<Result>(
    resources: string[],
    durationMs: number,
    routine: (signal: LossSignal) => Promise<Result>,
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
const SETTINGS: BothSettings<RedlockSettings> = {
  readme: README_SETTINGS,
  tuned: {
    ...README_SETTINGS,
    retryCount: RETRIES_ENDLESS,
    retryDelay: RETRY_MS_TUNED,
    retryJitter: RETRY_MS_TUNED / 2,
  },
};

type MakeRedlock = (clients: Redis[], settings: RedlockSettings) => RedlockLike;

export function redlockParticipants(id: string, name: string, make: MakeRedlock): readonly Participant[] {
  const sends = { evalsha: 1, eval: 1 };
  return withBothSettings(
    { id, name, client: 'ioredis', canRenew: true, hasQuorum: true, sends },
    SETTINGS,
    (ports, settings) => open(ports, settings, make),
  );
}

async function open(
  ports: readonly number[],
  settings: RedlockSettings,
  make: MakeRedlock,
): Promise<OpenParticipant> {
  const clients = ports.map((port) => ioredis(port));
  const redlock = make(clients, settings);
  // redlock emits every refused attempt as an `error` event, which ends a process without a listener.
  redlock.on('error', () => {});
  return {
    async take(key) {
      const lock = await redlock.acquire([key], LEASE_MS);
      return () => lock.release();
    },
    acquireUnwrapped: (key) => redlock.acquire([key], LEASE_MS),
    takeRenewed: (key, leaseMs) => leaseFromUsing((body) => redlock.using([key], leaseMs, body)),
    async close() {
      for (const client of clients) client.disconnect();
    },
  };
}
