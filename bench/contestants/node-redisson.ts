/** node-redisson 1.0.4: wakes by a message, has no retry to tune; renews. */
import { Redisson } from 'node-redisson';
import { type Contestant, type Entrant, README } from '../contestant.ts';

function redisson(port: number, leaseMs?: number): Redisson {
  const made = new Redisson({
    redis: { options: { host: '127.0.0.1', port } },
    ...(leaseMs === undefined ? {} : { lockWatchdogTimeout: BigInt(leaseMs) }),
  });
  made.redis.on('error', () => {});
  return made;
}

async function open(port: number): Promise<Contestant> {
  const usual = redisson(port);
  // The length of a renewed lease belongs to the instance, not to the call.
  let brief: Redisson | undefined;
  return {
    async take(key) {
      const lock = usual.getLock(key);
      await lock.lock();
      return () => lock.unlock();
    },
    bare: (key) => usual.getLock(key).lock(),
    async keep(key, leaseMs) {
      brief ??= redisson(port, leaseMs);
      const lock = brief.getLock(key);
      await lock.lock();
      // It has no way to say that a lease is lost; the server is asked at the end.
      return { isLost: () => false, release: () => lock.unlock() };
    },
    async close() {
      await Promise.all([usual.quit(), brief?.quit()]);
    },
  };
}

export const nodeRedisson: Entrant = {
  id: 'node-redisson',
  name: 'node-redisson 1.0.4',
  settings: README,
  role: 'peer',
  client: 'ioredis',
  isTuned: false,
  canKeep: true,
  // Each unlock deletes one key by a command of its own and one inside its script.
  sends: { evalsha: 1, eval: 1, subscribe: 1, unsubscribe: 1, del: 0.5 },
  open,
};
