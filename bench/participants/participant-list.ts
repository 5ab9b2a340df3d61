/** Every participant. The order is the order of the rows in the tables. */
import { beforeParticipants } from './before.ts';
import { holdfasts } from './holdfast.ts';
import { noLock } from './no-lock.ts';
import type { Participant } from './participant.ts';
import { etcd } from './peers/etcd.ts';
import { nodeRedisson } from './peers/node-redisson.ts';
import { postgresql } from './peers/postgresql.ts';
import { redisSemaphore } from './peers/redis-semaphore.ts';
import { redisson } from './peers/redisson/redisson.ts';
import { redlock4 } from './peers/redlock-4.ts';
import { redlock5 } from './peers/redlock-5.ts';
import { redlockUniversal } from './peers/redlock-universal.ts';
import { sesamecare } from './peers/sesamecare.ts';
import { simpleRedisMutex } from './peers/simple-redis-mutex.ts';
import { rawIoredis, rawNodeRedis } from './yardsticks/raw.ts';
import { rawHandover } from './yardsticks/raw-handover.ts';
import { tokenPassing } from './yardsticks/token-passing.ts';

const BEFORE = beforeParticipants();

/** The same participant of an earlier commit is measured next to the present one. */
function withBefore(present: Participant): Participant[] {
  return [present, ...BEFORE.filter(({ beforeOf }) => beforeOf === present.id)];
}

export const PARTICIPANTS: readonly Participant[] = [
  rawIoredis,
  rawNodeRedis,
  rawHandover,
  tokenPassing,
  ...holdfasts.flatMap(withBefore),
  ...redlock4,
  ...redlock5,
  ...sesamecare,
  ...redlockUniversal,
  redisSemaphore,
  ...simpleRedisMutex,
  nodeRedisson,
  redisson,
  postgresql,
  etcd,
  noLock,
];

export function participantOf(id: string): Participant {
  const participant = PARTICIPANTS.find((each) => each.id === id);
  if (participant !== undefined) return participant;
  throw new Error(`expected a participant of ${PARTICIPANTS.map((each) => each.id).join(', ')}, got ${id}`);
}
