/**
 * The yardstick where callers of one process wait for one key: the raw client behind a local queue. The next
 * SET is written right behind the delete of the previous owner, so that each hand-over costs one round trip.
 */
import { randomBytes } from 'node:crypto';
import { ioredis } from '../connection.ts';
import { LEASE_MS, type OpenParticipant, type Participant } from '../participant.ts';
import { COMPARE_AND_DELETE } from './compare-and-delete.ts';
import { LocalQueue } from './local-queue.ts';

async function open(port: number): Promise<OpenParticipant> {
  const redis = ioredis(port);
  const sha = String(await redis.script('LOAD', COMPARE_AND_DELETE));
  const queues = new Map<string, LocalQueue>();
  const queueOf = (key: string): LocalQueue => {
    const queue = queues.get(key) ?? new LocalQueue();
    queues.set(key, queue);
    return queue;
  };
  return {
    async take(key) {
      const endTurn = await queueOf(key).turn();
      const token = randomBytes(16).toString('hex');
      const set = await redis.set(key, token, 'PX', LEASE_MS, 'NX');
      if (set !== 'OK') throw new Error('the raw client did not get a free key');
      return async () => {
        const deleted = redis.evalsha(sha, 1, key, token);
        endTurn();
        await deleted;
      };
    },
    async close() {
      redis.disconnect();
    },
  };
}

export const rawHandover: Participant = {
  id: 'raw-handover',
  name: 'raw ioredis, hand-over by a local line',
  settings: 'SET NX PX, compare-and-delete',
  role: 'yardstick',
  client: 'ioredis',
  isTuned: false,
  canRenew: false,
  sends: { set: 1, evalsha: 1, eval: 1 },
  open,
};
