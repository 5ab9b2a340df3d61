/** Everyone who can play. */
import type { Entrant } from './contestant.ts';
import { holdfasts } from './contestants/holdfast.ts';
import { noLock } from './contestants/no-lock.ts';
import { nodeRedisson } from './contestants/node-redisson.ts';
import { rawIoredis, rawNodeRedis } from './contestants/raw.ts';
import { rawHandover } from './contestants/raw-handover.ts';
import { redisSemaphore } from './contestants/redis-semaphore.ts';
import { redlock4 } from './contestants/redlock-4.ts';
import { redlock5 } from './contestants/redlock-5.ts';
import { redlockUniversal } from './contestants/redlock-universal.ts';
import { sesamecare } from './contestants/sesamecare.ts';
import { simpleRedisMutex } from './contestants/simple-redis-mutex.ts';
import { tokenPassing } from './contestants/token-passing.ts';

export const ROSTER: readonly Entrant[] = [
  rawIoredis,
  rawNodeRedis,
  rawHandover,
  tokenPassing,
  ...holdfasts,
  ...redlock4,
  ...redlock5,
  ...sesamecare,
  ...redlockUniversal,
  redisSemaphore,
  ...simpleRedisMutex,
  nodeRedisson,
  noLock,
];

export function entrantOf(id: string): Entrant {
  const entrant = ROSTER.find((each) => each.id === id);
  if (entrant !== undefined) return entrant;
  throw new Error(`expected a contestant of ${ROSTER.map((each) => each.id).join(', ')}, got ${id}`);
}
