/**
 * The yardstick between processes: the only element of a list is the token. BLPOP waits for the token, RPUSH
 * passes it on. No lease, no owner, no renewal: a process that dies with the token stops everybody.
 */

import { ioredis } from '../connection.ts';
import { LEASE_MS, type OpenParticipant, type Participant } from '../participant.ts';
import { LocalQueue } from './local-queue.ts';

/** Makes the token once, in whichever process asks first. The mark that says so outlives every scenario. */
const SEED =
  "if redis.call('SET', KEYS[2], '1', 'NX', 'PX', ARGV[1]) then redis.call('RPUSH', KEYS[1], '1') end return 1";

async function open(port: number): Promise<OpenParticipant> {
  const waiting = ioredis(port);
  const passing = ioredis(port);
  const seeded = new Map<string, Promise<unknown>>();
  // A connection blocked in BLPOP serves one waiter, so the waiters of one process queue for it.
  const queue = new LocalQueue();
  const seed = (key: string): Promise<unknown> => {
    const known = seeded.get(key) ?? passing.eval(SEED, 2, key, `${key}:seeded`, 10 * LEASE_MS);
    seeded.set(key, known);
    return known;
  };
  return {
    async take(key) {
      await seed(key);
      const endTurn = await queue.turn();
      await waiting.blpop(key, 0);
      return async () => {
        const passed = passing.rpush(key, '1');
        endTurn();
        await passed;
      };
    },
    async close() {
      waiting.disconnect();
      passing.disconnect();
    },
  };
}

export const tokenPassing: Participant = {
  id: 'token-passing',
  name: 'bare token passing on ioredis',
  settings: 'RPUSH, BLPOP',
  role: 'yardstick',
  client: 'ioredis',
  isTuned: false,
  canRenew: false,
  sends: { blpop: 1, rpush: 1, eval: 0 },
  open,
};
