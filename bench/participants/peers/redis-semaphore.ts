/** redis-semaphore 5.8.0: polls every 10 ms, as its README says; a mutex object for each acquisition; renews. */
import { Mutex, RedlockMutex } from 'redis-semaphore';
import { ioredis } from '../connection.ts';
import type { OpenParticipant, Participant } from '../participant.ts';

async function open(ports: readonly number[]): Promise<OpenParticipant> {
  const clients = ports.map((port) => ioredis(port));
  const [client] = clients;
  if (client === undefined) throw new Error('expected at least one port, got none');
  return {
    async take(key) {
      const mutex = clients.length > 1 ? new RedlockMutex(clients, key) : new Mutex(client, key);
      await mutex.acquire();
      return () => mutex.release();
    },
    acquireUnwrapped: (key) => new Mutex(client, key).acquire(),
    async takeRenewed(key, leaseMs) {
      // Without a listener a loss is thrown where nobody can catch it; the README shows this listener.
      const mutex = new Mutex(client, key, { lockTimeout: leaseMs, onLockLost: () => {} });
      await mutex.acquire();
      return { isLost: () => !mutex.isAcquired, release: () => mutex.release() };
    },
    async close() {
      for (const each of clients) each.disconnect();
    },
  };
}

export const redisSemaphore: Participant = {
  id: 'redis-semaphore',
  name: 'redis-semaphore 5.8.0',
  settings: 'as its README (10 ms retry)',
  role: 'peer',
  client: 'ioredis',
  isTuned: false,
  canRenew: true,
  sends: { set: 1, evalsha: 1, eval: 1 },
  open: (port) => open([port]),
  openQuorum: open,
};
