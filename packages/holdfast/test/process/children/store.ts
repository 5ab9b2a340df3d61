/** The clients that a child can be told to use, behind the few plain commands that its sections need. */
import type { RedisClient } from '../../../src/index.ts';

export const CLIENT_KINDS = ['ioredis', 'ioredis-5', 'redis', 'redis-5'] as const;

export type ClientKind = (typeof CLIENT_KINDS)[number];

export interface Store {
  /** What `Locks` is given. It makes connections of its own from it. */
  readonly client: RedisClient;
  readonly connect: () => Promise<unknown>;
  readonly read: (key: string) => Promise<number>;
  /** Sets a number and appends to a log: both or neither, also when this process is killed on the way. */
  readonly write: (key: string, value: number, log: string, entry: string) => Promise<void>;
  /** The number, for an owner with this fence; null once a later owner has been here. */
  readonly fencedRead: (key: string, fenceKey: string, fence: number) => Promise<number | null>;
  /** Sets it and appends the fence to a log, unless a later owner has been here: then it is false. */
  readonly fencedWrite: (
    key: string,
    fenceKey: string,
    log: string,
    value: number,
    fence: number,
  ) => Promise<boolean>;
  readonly end: () => void;
}

const MEET = `
local fence = redis.call('GET', KEYS[2])
if fence and tonumber(ARGV[1]) < tonumber(fence) then return -1 end
redis.call('SET', KEYS[2], ARGV[1])
`;
const FENCED_READ = `${MEET} return tonumber(redis.call('GET', KEYS[1]) or '0')`;
const FENCED_WRITE = `${MEET} redis.call('SET', KEYS[1], ARGV[2]) redis.call('RPUSH', KEYS[3], ARGV[1]) return 1`;

type Evaluate = (script: string, keys: string[], args: string[]) => Promise<unknown>;

function fenced(evaluate: Evaluate): Pick<Store, 'fencedRead' | 'fencedWrite'> {
  return {
    fencedRead: async (key, fenceKey, fence) => {
      const seen = Number(await evaluate(FENCED_READ, [key, fenceKey], [String(fence)]));
      return seen < 0 ? null : seen;
    },
    fencedWrite: async (key, fenceKey, log, value, fence) => {
      const args = [String(fence), String(value)];
      return Number(await evaluate(FENCED_WRITE, [key, fenceKey, log], args)) === 1;
    },
  };
}

/** Nothing is connected yet. Only the package that is asked for is loaded: a child should start quickly. */
export function openStore(kind: ClientKind, port: number): Promise<Store> {
  return kind.startsWith('ioredis') ? openIoredis(kind, port) : openNodeRedis(kind, port);
}

async function openIoredis(kind: ClientKind, port: number): Promise<Store> {
  // The kinds are named after their packages, and the versions differ in types that we do not use.
  const { Redis } = (await import(kind)) as typeof import('ioredis');
  const client = new Redis({ host: '127.0.0.1', port, lazyConnect: true });
  return {
    client,
    connect: () => client.connect(),
    read: async (key) => Number(await client.get(key)),
    write: async (key, value, log, entry) => {
      const replies = await client.multi().set(key, value).rpush(log, entry).exec();
      for (const [error] of replies ?? []) if (error !== null) throw error;
    },
    ...fenced((script, keys, args) => client.eval(script, keys.length, ...keys, ...args)),
    end: () => client.disconnect(),
  };
}

async function openNodeRedis(kind: ClientKind, port: number): Promise<Store> {
  // The same.
  const { createClient } = (await import(kind)) as typeof import('redis');
  const client = createClient({ socket: { host: '127.0.0.1', port } });
  client.on('error', () => {});
  return {
    client,
    connect: () => client.connect(),
    read: async (key) => Number(await client.get(key)),
    write: async (key, value, log, entry) => {
      await client.multi().set(key, String(value)).rPush(log, entry).exec();
    },
    ...fenced((script, keys, args) => client.eval(script, { keys, arguments: args })),
    end: () => {
      if (client.isOpen) client.destroy();
    },
  };
}
