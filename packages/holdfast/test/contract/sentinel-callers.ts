/** The clients of callers that find their server by sentinels. */
import { Redis as Ioredis6 } from 'ioredis';
import { Redis as Ioredis5 } from 'ioredis-5';
import { createSentinel } from 'redis';
import type { SentinelGroup } from '../support/servers/sentinel-group.ts';
import type { Caller, CallerOptions, Connect } from './callers.ts';

function groupOf({ sentinels }: CallerOptions): Pick<SentinelGroup, 'addresses' | 'name'> {
  if (sentinels === null) throw new Error('this row has no sentinels');
  return sentinels;
}

function ofIoredis(Client: typeof Ioredis6): Connect {
  return async (options) => {
    const { addresses: sentinels, name } = groupOf(options);
    const { db, keyPrefix } = options;
    const client = new Client({ sentinels, name, db, keyPrefix, lazyConnect: true });
    await client.connect();
    return { client, ping: () => client.ping(), close: () => client.quit() };
  };
}

export const ioredis6BySentinels: Connect = ofIoredis(Ioredis6);
// The types of the versions differ in ways that do not matter here.
export const ioredis5BySentinels: Connect = ofIoredis(Ioredis5 as unknown as typeof Ioredis6);

/** As in `callers.ts`: making one costs everything in this process a good part of a second, a duplicate costs nothing. */
const template = createSentinel({ name: 'template', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] });

/** Connected when its owner first uses it, which costs as much again. */
export async function nodeRedis6BySentinels(options: CallerOptions): Promise<Caller> {
  const { addresses: sentinelRootNodes, name } = groupOf(options);
  const nodeClientOptions = { database: options.db };
  const client = template.duplicate({ name, sentinelRootNodes, nodeClientOptions });
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
