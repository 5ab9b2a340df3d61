/**
 * The yardstick between processes: one element in a list is the right to go on. BLPOP waits for it, RPUSH passes it
 * on. No lease, no owner, no renewal: who dies with it stops everybody.
 */
import { type Contestant, type Entrant, LEASE_MS } from '../contestant.ts';
import { ioredis } from './connection.ts';
import { LocalQueue } from './local-queue.ts';

/** Makes the element once, whoever asks first; the mark beside it outlives every scenario. */
const SEED =
  "if redis.call('SET', KEYS[2], '1', 'NX', 'PX', ARGV[1]) then redis.call('RPUSH', KEYS[1], '1') end return 1";

async function open(port: number): Promise<Contestant> {
  const waiting = ioredis(port);
  const passing = ioredis(port);
  const seeded = new Map<string, Promise<unknown>>();
  // A connection that blocks in BLPOP serves one waiter, so those of one process stand in line for it.
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

export const tokenPassing: Entrant = {
  id: 'token-passing',
  name: 'bare token passing on ioredis',
  settings: 'RPUSH, BLPOP',
  role: 'yardstick',
  client: 'ioredis',
  isTuned: false,
  canKeep: false,
  sends: { blpop: 1, rpush: 1, eval: 0 },
  open,
};
