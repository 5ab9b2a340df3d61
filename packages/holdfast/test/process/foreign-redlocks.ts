/** Two libraries of the Redlock family from npm, as far as our tests use them. Both write a plain string key. */
import { createRequire } from 'node:module';
import type { Redis } from 'ioredis';

export interface ForeignLease {
  release(): Promise<unknown>;
}

export interface ForeignRedlock {
  acquire(resources: string[], durationMs: number): Promise<ForeignLease>;
  on(event: 'error', listener: () => void): unknown;
}

interface Settings {
  readonly retryCount: number;
  readonly retryDelay: number;
  readonly retryJitter: number;
}

type RedlockClass = new (clients: readonly Redis[], settings: Settings) => ForeignRedlock;

const load = createRequire(import.meta.url);

/** By the names of their packages. The types that they bring are of other versions of their client, or of none. */
export const REDLOCKS: Readonly<Record<string, RedlockClass>> = {
  redlock: (load('redlock') as { default: RedlockClass }).default,
  '@sesamecare-oss/redlock': (load('@sesamecare-oss/redlock') as { Redlock: RedlockClass }).Redlock,
};
