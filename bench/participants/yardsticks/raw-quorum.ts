/**
 * The yardstick on several servers: each command goes to all of them at once, and the third good answer of five
 * decides. Nothing is checked and nothing cleaned up: no quorum can cost less.
 */
import { randomBytes } from 'node:crypto';
import { LEASE_MS, type OpenParticipant } from '../participant.ts';
import { COMPARE_AND_DELETE } from './compare-and-delete.ts';

/** A client of one of the servers. */
interface Member {
  set(key: string, token: string): Promise<boolean>;
  delete(key: string, token: string): Promise<boolean>;
  close(): void;
}

/** No offline queue: commands to a server that is down fail at once instead of piling up here. */
async function joinIoredis(port: number): Promise<Member> {
  const { Redis } = await import('ioredis');
  const redis = new Redis(port, '127.0.0.1', {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
  });
  redis.on('error', () => {});
  await redis.connect();
  const sha = String(await redis.script('LOAD', COMPARE_AND_DELETE));
  return {
    set: async (key, token) => (await redis.set(key, token, 'PX', LEASE_MS, 'NX')) === 'OK',
    delete: async (key, token) => (await redis.evalsha(sha, 1, key, token)) === 1,
    close: () => redis.disconnect(),
  };
}

async function joinNodeRedis(port: number): Promise<Member> {
  const { createClient } = await import('redis');
  const socket = { host: '127.0.0.1', port };
  const redis = createClient({ socket, disableOfflineQueue: true }).on('error', () => {});
  await redis.connect();
  const sha = await redis.scriptLoad(COMPARE_AND_DELETE);
  const options = { condition: 'NX', expiration: { type: 'PX', value: LEASE_MS } } as const;
  return {
    set: async (key, token) => (await redis.set(key, token, options)) === 'OK',
    delete: async (key, token) => (await redis.evalSha(sha, { keys: [key], arguments: [token] })) === 1,
    close: () => redis.destroy(),
  };
}

/** Resolves with the `needed`th good answer. Rejects when fewer than `needed` good answers can still come. */
function majority(answers: readonly Promise<boolean>[], needed: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let good = 0;
    let bad = 0;
    const count = (isGood: boolean): void => {
      if (isGood) good += 1;
      else bad += 1;
      if (good === needed) resolve();
      if (bad > answers.length - needed) reject(new Error(`${bad} of ${answers.length} servers refused`));
    };
    for (const answer of answers) {
      answer.then(count, () => count(false));
    }
  });
}

async function open(members: readonly Member[]): Promise<OpenParticipant> {
  const needed = Math.floor(members.length / 2) + 1;
  return {
    async take(key) {
      const token = randomBytes(16).toString('hex');
      const votes = members.map((member) => member.set(key, token));
      await majority(votes, needed);
      return () => {
        const releases = members.map((member) => member.delete(key, token));
        return majority(releases, needed);
      };
    },
    async close() {
      for (const member of members) member.close();
    },
  };
}

export async function openIoredisQuorum(ports: readonly number[]): Promise<OpenParticipant> {
  return open(await Promise.all(ports.map(joinIoredis)));
}

export async function openNodeRedisQuorum(ports: readonly number[]): Promise<OpenParticipant> {
  return open(await Promise.all(ports.map(joinNodeRedis)));
}
