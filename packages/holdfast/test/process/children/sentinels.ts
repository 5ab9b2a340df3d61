/** The clients by which a child can be told to find its server through sentinels. */
import type { RedisClient } from '../../../src/index.ts';
import { PRIMARY } from '../counter/task.ts';
import type { ClientKind } from './store.ts';

export interface Found {
  readonly client: RedisClient;
  readonly end: () => void;
}

type Addresses = readonly { readonly host: string; readonly port: number }[];

/** Never connected: it is a description. */
export async function openSentinels(kind: ClientKind, addresses: Addresses): Promise<Found> {
  if (kind.startsWith('redis')) {
    const { createSentinel } = await import('redis');
    const client = createSentinel({ name: PRIMARY, sentinelRootNodes: [...addresses] });
    client.on('error', () => {});
    return { client, end: () => {} };
  }
  // The kinds are named after their packages, and the versions differ in types that we do not use.
  const { Redis } = (await import(kind)) as typeof import('ioredis');
  const client = new Redis({ sentinels: [...addresses], name: PRIMARY, lazyConnect: true });
  return { client, end: () => client.disconnect() };
}
