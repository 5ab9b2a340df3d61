/** Clients with their default settings, as the READMEs show them, that do not print each error of a broken server. */
import { Redis } from 'ioredis';

const HOST = '127.0.0.1';

export function ioredis(port: number, options: { readonly lazyConnect?: boolean } = {}): Redis {
  const redis = new Redis(port, HOST, options);
  redis.on('error', () => {});
  return redis;
}

/** Loaded when it is wanted: it takes longer than everything else that a process here starts with. */
export async function nodeRedis(port: number) {
  const { createClient } = await import('redis');
  return createClient({ socket: { host: HOST, port } }).on('error', () => {});
}
