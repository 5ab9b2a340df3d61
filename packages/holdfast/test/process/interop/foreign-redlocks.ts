/** Two libraries of the Redlock family from npm, as far as our tests use them. Both write a plain string key. */
import { Redlock as Fork } from '@sesamecare-oss/redlock';
import type { Redis } from 'ioredis';
import Redlock from 'redlock';

export interface ForeignRedlock {
  acquire(resources: string[], durationMs: number): Promise<{ release(): Promise<unknown> }>;
  on(event: 'error', listener: () => void): unknown;
}

interface RetrySettings {
  readonly retryCount: number;
  readonly retryDelay: number;
  readonly retryJitter: number;
}

type MakeRedlock = (clients: Redis[], settings: RetrySettings) => ForeignRedlock;

/** By the names of their packages. */
export const REDLOCKS: Readonly<Record<string, MakeRedlock>> = {
  redlock: (clients, settings) => new Redlock(clients, settings),
  '@sesamecare-oss/redlock': (clients, settings) => new Fork(clients, settings),
};
