/** The yardstick: the client itself doing SET NX PX and a compare-and-delete script. No waiting, no renewal. */
import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import type { Contestant } from '../contestant.ts';

const COMPARE_AND_DELETE =
  "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
const LEASE_MS = 30_000;

function refuse(what: string): never {
  throw new Error(`the raw client did not ${what}`);
}

export async function rawIoredis(port: number): Promise<Contestant> {
  const redis = new Redis(port, '127.0.0.1');
  const sha = String(await redis.script('LOAD', COMPARE_AND_DELETE));
  return {
    name: 'raw ioredis',
    async once(key) {
      const token = randomBytes(16).toString('hex');
      if ((await redis.set(key, token, 'PX', LEASE_MS, 'NX')) !== 'OK') refuse('get a free key');
      if ((await redis.evalsha(sha, 1, key, token)) !== 1) refuse('delete its key');
    },
    async close() {
      redis.disconnect();
    },
  };
}

export async function rawNodeRedis(port: number): Promise<Contestant> {
  const redis = createClient({ socket: { host: '127.0.0.1', port } });
  await redis.connect();
  const sha = await redis.scriptLoad(COMPARE_AND_DELETE);
  return {
    name: 'raw node-redis',
    async once(key) {
      const token = randomBytes(16).toString('hex');
      const set = await redis.set(key, token, {
        condition: 'NX',
        expiration: { type: 'PX', value: LEASE_MS },
      });
      if (set !== 'OK') refuse('get a free key');
      if ((await redis.evalSha(sha, { keys: [key], arguments: [token] })) !== 1) refuse('delete its key');
    },
    async close() {
      redis.destroy();
    },
  };
}
