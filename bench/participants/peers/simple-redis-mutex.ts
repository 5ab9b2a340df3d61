/** simple-redis-mutex 3.0.0: a message wakes every waiter of the process; renews only when asked to. */
import { lock } from 'simple-redis-mutex';
import { nodeRedis } from '../connection.ts';
import { type OpenParticipant, type Participant, RETRY_MS_TUNED } from '../participant.ts';
import { withBothSettings } from './both-settings.ts';

type Client = Awaited<ReturnType<typeof nodeRedis>>;

/** One client for a port and process, as its README asks: its only subscriber belongs to the first client it is given. */
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

interface Options {
  readonly pollingInterval?: number;
}

async function open([port = 0]: readonly number[], options: Options): Promise<OpenParticipant> {
  const redis = await clientOf(port);
  // The first call makes the subscriber; many first calls at once would make one each.
  const release = await lock(redis, `first:${process.pid}:${Math.random()}`, options);
  await release();
  return {
    take: (key) => lock(redis, key, options),
    acquireUnwrapped: (key) => lock(redis, key, options),
    // The client belongs to the process and ends with it.
    async close() {},
  };
}

export const simpleRedisMutex: readonly Participant[] = withBothSettings<Options>(
  {
    id: 'simple-redis-mutex',
    name: 'simple-redis-mutex 3.0.0',
    client: 'node-redis',
    canRenew: false,
    hasQuorum: false,
    sends: { set: 1, incr: 1, evalsha: 1, eval: 1 },
  },
  { readme: {}, tuned: { pollingInterval: RETRY_MS_TUNED } },
  open,
);
