/**
 * The yardstick where callers of one process wait for one key: the raw client behind a local line. The next SET is
 * written right behind the delete of the owner before it, so that each hand-over costs one round trip.
 */
import { randomBytes } from 'node:crypto';
import { type Contestant, type Entrant, LEASE_MS } from '../contestant.ts';
import { COMPARE_AND_DELETE } from './compare-and-delete.ts';
import { ioredis } from './connection.ts';
import { LocalQueue } from './local-queue.ts';

async function open(port: number): Promise<Contestant> {
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

export const rawHandover: Entrant = {
  id: 'raw-handover',
  name: 'raw ioredis, hand-over by a local line',
  settings: 'SET NX PX, compare-and-delete',
  role: 'yardstick',
  client: 'ioredis',
  isTuned: false,
  canKeep: false,
  sends: { set: 1, evalsha: 1, eval: 1 },
  open,
};
