/** The yardstick: the client itself doing SET NX PX and a compare-and-delete script. No waiting, no renewal. */
import { randomBytes } from 'node:crypto';
import { ioredis, nodeRedis } from '../connection.ts';
import { LEASE_MS, type OpenParticipant, type Participant } from '../participant.ts';
import { COMPARE_AND_DELETE } from './compare-and-delete.ts';
import { openIoredisQuorum, openNodeRedisQuorum } from './raw-quorum.ts';

const SENDS = { set: 1, evalsha: 1, eval: 1 };

function refuse(what: string): never {
  throw new Error(`the raw client did not ${what}`);
}

async function openIoredis(port: number): Promise<OpenParticipant> {
  const redis = ioredis(port);
  const sha = String(await redis.script('LOAD', COMPARE_AND_DELETE));
  return {
    async take(key) {
      const token = randomBytes(16).toString('hex');
      if ((await redis.set(key, token, 'PX', LEASE_MS, 'NX')) !== 'OK') refuse('get a free key');
      return async () => {
        if ((await redis.evalsha(sha, 1, key, token)) !== 1) refuse('delete its key');
      };
    },
    async close() {
      redis.disconnect();
    },
  };
}

async function openNodeRedis(port: number): Promise<OpenParticipant> {
  const redis = await nodeRedis(port);
  await redis.connect();
  const sha = await redis.scriptLoad(COMPARE_AND_DELETE);
  return {
    async take(key) {
      const token = randomBytes(16).toString('hex');
      const set = await redis.set(key, token, {
        condition: 'NX',
        expiration: { type: 'PX', value: LEASE_MS },
      });
      if (set !== 'OK') refuse('get a free key');
      return async () => {
        const deleted = await redis.evalSha(sha, { keys: [key], arguments: [token] });
        if (deleted !== 1) refuse('delete its key');
      };
    },
    async close() {
      redis.destroy();
    },
  };
}

export const rawIoredis: Participant = {
  id: 'raw-ioredis',
  name: 'raw ioredis',
  settings: 'SET NX PX, compare-and-delete',
  role: 'yardstick',
  client: 'ioredis',
  isTuned: false,
  canRenew: false,
  sends: SENDS,
  open: openIoredis,
  openQuorum: openIoredisQuorum,
};

export const rawNodeRedis: Participant = {
  id: 'raw-node-redis',
  name: 'raw node-redis',
  settings: 'SET NX PX, compare-and-delete',
  role: 'yardstick',
  client: 'node-redis',
  isTuned: false,
  canRenew: false,
  sends: SENDS,
  open: openNodeRedis,
  openQuorum: openNodeRedisQuorum,
};
