/**
 * The yardstick on several servers: each command goes to all of them at once, and the third good answer of five
 * decides. Nothing is checked and nothing cleaned up, so this is the least a quorum can cost.
 */
import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { type Contestant, LEASE_MS } from '../contestant.ts';
import { COMPARE_AND_DELETE } from './compare-and-delete.ts';

/** A server that is down must answer with an error at once, or its commands would pile up here. */
function connect(port: number): Redis {
  const redis = new Redis(port, '127.0.0.1', {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
  });
  redis.on('error', () => {});
  return redis;
}

/** Resolves with the `needed`th good answer, rejects when so many can no longer come. */
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

export async function openRawQuorum(ports: readonly number[]): Promise<Contestant> {
  const clients = ports.map(connect);
  await Promise.all(clients.map((client) => client.connect()));
  const [sha = ''] = await Promise.all(
    clients.map(async (client) => String(await client.script('LOAD', COMPARE_AND_DELETE))),
  );
  const needed = Math.floor(clients.length / 2) + 1;
  return {
    async take(key) {
      const token = randomBytes(16).toString('hex');
      await majority(
        clients.map(async (client) => (await client.set(key, token, 'PX', LEASE_MS, 'NX')) === 'OK'),
        needed,
      );
      return () =>
        majority(
          clients.map(async (client) => (await client.evalsha(sha, 1, key, token)) === 1),
          needed,
        );
    },
    async close() {
      for (const client of clients) client.disconnect();
    },
  };
}
