/** Clients with their default settings, as the READMEs show them, that do not print each error of a broken server. */
import { Redis } from 'ioredis';
import { createClient } from 'redis';

const HOST = '127.0.0.1';

export function ioredis(port: number, options: { readonly lazyConnect?: boolean } = {}): Redis {
  const redis = new Redis(port, HOST, options);
  redis.on('error', () => {});
  return redis;
}

export function nodeRedis(port: number) {
  return createClient({ socket: { host: HOST, port } }).on('error', () => {});
}
