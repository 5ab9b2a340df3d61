/** simple-redis-mutex 3.0.0: wakes every waiter of the process by a message; renews on request only. */
import { lock } from 'simple-redis-mutex';
import { type Contestant, type Entrant, README, RETRY_MS_TUNED, TUNED } from '../contestant.ts';
import { nodeRedis } from './connection.ts';

type Client = Awaited<ReturnType<typeof nodeRedis>>;

/** Its README wants the same client throughout a process: its one subscriber hangs on the first it meets. */
const clients = new Map<number, Promise<Client>>();

async function connect(port: number): Promise<Client> {
  const redis = await nodeRedis(port);
  await redis.connect();
  return redis;
}

function clientOf(port: number): Promise<Client> {
  const client = clients.get(port) ?? connect(port);
  clients.set(port, client);
  return client;
}

async function open(port: number, options: { readonly pollingInterval?: number }): Promise<Contestant> {
  const redis = await clientOf(port);
  // The subscriber is made by the first call; many first calls at once would make one each.
  const release = await lock(redis, `first:${process.pid}:${Math.random()}`, options);
  await release();
  return {
    take: (key) => lock(redis, key, options),
    bare: (key) => lock(redis, key, options),
    // The client is the process's own and ends with it.
    async close() {},
  };
}

function entrant(isTuned: boolean): Entrant {
  const options = isTuned ? { pollingInterval: RETRY_MS_TUNED } : {};
  return {
    id: isTuned ? 'simple-redis-mutex-tuned' : 'simple-redis-mutex',
    name: 'simple-redis-mutex 3.0.0',
    settings: isTuned ? TUNED : README,
    role: 'peer',
    client: 'node-redis',
    isTuned,
    canKeep: false,
    sends: { set: 1, incr: 1, evalsha: 1, eval: 1 },
    open: (port) => open(port, options),
  };
}

export const simpleRedisMutex: readonly Entrant[] = [entrant(false), entrant(true)];
