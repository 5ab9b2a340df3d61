/** redlock-universal 0.8.5: polls; a lock object for each key; renews inside `using`. */
import { createLock, createRedlock, IoredisAdapter, type Lock } from 'redlock-universal';
import {
  type Contestant,
  type Entrant,
  LEASE_MS,
  README,
  RETRIES_ENDLESS,
  RETRY_MS_TUNED,
  TUNED,
} from '../contestant.ts';
import { ioredis } from './connection.ts';
import { keepInside } from './keep-inside.ts';

const TUNED_RETRY = { retryAttempts: RETRIES_ENDLESS, retryDelay: RETRY_MS_TUNED };

async function open(ports: readonly number[], retry: Partial<typeof TUNED_RETRY>): Promise<Contestant> {
  const clients = ports.map((port) => ioredis(port));
  const adapters = clients.map((client) => new IoredisAdapter(client));
  const [adapter] = adapters;
  if (adapter === undefined) throw new Error('expected at least one port, got none');
  const lockOf = (key: string, ttl: number): Lock =>
    adapters.length > 1
      ? createRedlock({ adapters, key, ttl, ...retry })
      : createLock({ adapter, key, ttl, ...retry });
  return {
    async take(key) {
      const lock = lockOf(key, LEASE_MS);
      const handle = await lock.acquire();
      return () => lock.release(handle);
    },
    bare: (key) => lockOf(key, LEASE_MS).acquire(),
    keep: (key, leaseMs) => keepInside((body) => lockOf(key, leaseMs).using(body)),
    async close() {
      for (const client of clients) client.disconnect();
    },
  };
}

function entrant(isTuned: boolean): Entrant {
  const retry = isTuned ? TUNED_RETRY : {};
  return {
    id: isTuned ? 'redlock-universal-tuned' : 'redlock-universal',
    name: 'redlock-universal 0.8.5',
    settings: isTuned ? TUNED : README,
    role: 'peer',
    client: 'ioredis',
    isTuned,
    canKeep: true,
    sends: { set: 1, evalsha: 1, eval: 1, ping: 1 },
    open: (port) => open([port], retry),
    openQuorum: (ports) => open(ports, retry),
  };
}

export const redlockUniversal: readonly Entrant[] = [entrant(false), entrant(true)];
