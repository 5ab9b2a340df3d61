/** redlock-universal 0.8.5: polls; a lock object for each key; renews inside `using`. */
import { createLock, createRedlock, IoredisAdapter, type Lock } from 'redlock-universal';
import { ioredis } from '../connection.ts';
import {
  LEASE_MS,
  type OpenParticipant,
  type Participant,
  RETRIES_ENDLESS,
  RETRY_MS_TUNED,
} from '../participant.ts';
import { withBothSettings } from './both-settings.ts';
import { leaseFromUsing } from './lease-from-using.ts';

interface Retry {
  readonly retryAttempts?: number;
  readonly retryDelay?: number;
}

async function open(ports: readonly number[], retry: Retry): Promise<OpenParticipant> {
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
    acquireUnwrapped: (key) => lockOf(key, LEASE_MS).acquire(),
    takeRenewed: (key, leaseMs) => leaseFromUsing((body) => lockOf(key, leaseMs).using(body)),
    async close() {
      for (const client of clients) client.disconnect();
    },
  };
}

export const redlockUniversal: readonly Participant[] = withBothSettings<Retry>(
  {
    id: 'redlock-universal',
    name: 'redlock-universal 0.8.5',
    client: 'ioredis',
    canRenew: true,
    hasQuorum: true,
    sends: { set: 1, evalsha: 1, eval: 1, ping: 1 },
  },
  { readme: {}, tuned: { retryAttempts: RETRIES_ENDLESS, retryDelay: RETRY_MS_TUNED } },
  open,
);
