/** The clients of callers that find their server by sentinels. */
import { Redis as Ioredis6 } from 'ioredis';
import { Redis as Ioredis5 } from 'ioredis-5';
import { createSentinel } from 'redis';
import type { SentinelGroup } from '../support/servers/sentinel-group.ts';
import type { Caller, CallerOptions } from './callers.ts';

function groupOf({ sentinels }: CallerOptions): Pick<SentinelGroup, 'addresses' | 'name'> {
  if (sentinels === null) throw new Error('this row has no sentinels');
  return sentinels;
}

export async function ioredis6BySentinels(options: CallerOptions): Promise<Caller> {
  const { addresses: sentinels, name } = groupOf(options);
  const { db, keyPrefix } = options;
  const client = new Ioredis6({ sentinels, name, db, keyPrefix, lazyConnect: true });
  await client.connect();
  return { client, ping: () => client.ping(), close: () => client.quit() };
}

export async function ioredis5BySentinels(options: CallerOptions): Promise<Caller> {
  const { addresses: sentinels, name } = groupOf(options);
  const { db, keyPrefix } = options;
  const client = new Ioredis5({ sentinels, name, db, keyPrefix, lazyConnect: true });
  await client.connect();
  return { client, ping: () => client.ping(), close: () => client.quit() };
}

/** As in `callers.ts`: making one costs everything in this process a good part of a second, a duplicate costs nothing. */
const pattern = createSentinel({ name: 'pattern', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] });

/** Connected when its owner first uses it, which costs as much again. */
export async function nodeRedis6BySentinels(options: CallerOptions): Promise<Caller> {
  const { addresses: sentinelRootNodes, name } = groupOf(options);
  const nodeClientOptions = { database: options.db };
  const client = pattern.duplicate({ name, sentinelRootNodes, nodeClientOptions });
  client.on('error', () => {});
  return {
    client,
    ping: async () => {
      if (!client.isOpen) await client.connect();
      return client.ping();
    },
    close: async () => {
      if (client.isOpen) await client.close();
    },
  };
}
