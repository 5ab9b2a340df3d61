/** node-redisson 1.0.4: a message wakes its waiters, so there is no retry to tune; renews. */
import { Redisson } from 'node-redisson';
import { type OpenParticipant, type Participant, README } from '../participant.ts';

function redisson(port: number, leaseMs?: number): Redisson {
  const made = new Redisson({
    redis: { options: { host: '127.0.0.1', port } },
    ...(leaseMs === undefined ? {} : { lockWatchdogTimeout: BigInt(leaseMs) }),
  });
  made.redis.on('error', () => {});
  return made;
}

async function open(port: number): Promise<OpenParticipant> {
  const usual = redisson(port);
  // The length of a renewed lease belongs to the instance, not to the call.
  let brief: Redisson | undefined;
  return {
    async take(key) {
      const lock = usual.getLock(key);
      await lock.lock();
      return () => lock.unlock();
    },
    acquireUnwrapped: (key) => usual.getLock(key).lock(),
    async takeRenewed(key, leaseMs) {
      brief ??= redisson(port, leaseMs);
      const lock = brief.getLock(key);
      await lock.lock();
      // node-redisson does not report a lost lease; the scenario asks the server at the end.
      return { isLost: () => false, release: () => lock.unlock() };
    },
    async close() {
      await Promise.all([usual.quit(), brief?.quit()]);
    },
  };
}

export const nodeRedisson: Participant = {
  id: 'node-redisson',
  name: 'node-redisson 1.0.4',
  settings: README,
  role: 'peer',
  client: 'ioredis',
  isTuned: false,
  canRenew: true,
  // Each unlock deletes one key by a command of its own and one inside its script.
  sends: { evalsha: 1, eval: 1, subscribe: 1, unsubscribe: 1, del: 0.5 },
  open,
};
