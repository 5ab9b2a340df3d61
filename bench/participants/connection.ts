/** Clients with default settings, as the READMEs show them. Their error events, one for each broken server, are dropped. */
import { Redis } from 'ioredis';

const HOST = '127.0.0.1';

export function ioredis(port: number, options: { readonly lazyConnect?: boolean } = {}): Redis {
  const redis = new Redis(port, HOST, options);
  redis.on('error', () => {});
  return redis;
}

/** Imports node-redis on first use: loading node-redis takes longer than the rest of a worker's start. */
export async function nodeRedis(port: number) {
  const { createClient } = await import('redis');
  return createClient({ socket: { host: HOST, port } }).on('error', () => {});
}
