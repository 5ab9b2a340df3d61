import { createClient as createNodeRedis6 } from 'redis';
import { createClient as createNodeRedis5 } from 'redis-5';
import type { RedisClient } from '../../src/clients/redis-client.ts';
import {
  type Caller,
  type CallerOptions,
  defined,
  type Emitter,
  listenersOf,
  type PromptFlavour,
} from './caller.ts';

/** What the two versions have in common; their full types are unrelated. */
interface NodeRedis extends Emitter {
  readonly options?: object | undefined;
  readonly isOpen: boolean;
  readonly isReady: boolean;
  on(event: 'error', listener: () => void): unknown;
  connect(): Promise<unknown>;
  sendCommand(args: readonly string[]): Promise<unknown>;
  select(database: number): Promise<unknown>;
  destroy(): void;
}

function nodeRedis(
  name: string,
  create: (options: object) => NodeRedis & RedisClient,
  hasKeyPrefix: boolean,
): PromptFlavour {
  const make = (options: CallerOptions): Caller => {
    const tcp = { port: options.port, host: '127.0.0.1' };
    const tls = { port: options.port, host: 'localhost', tls: true, ca: options.ca };
    const path = { path: options.path };
    const socket = options.path !== undefined ? path : options.ca !== undefined ? tls : tcp;
    const own = {
      socket,
      ...defined({ database: options.database, username: options.username, password: options.password }),
      ...defined({ keyPrefix: options.keyPrefix }),
      ...options.nodeRedis,
    };
    const client = create(options.url === undefined ? own : { url: options.url });
    client.on('error', () => {});
    return {
      client,
      get footprint() {
        const { isOpen, isReady } = client;
        return { listeners: listenersOf(client), options: { ...client.options }, isOpen, isReady };
      },
      connect: async () => void (await client.connect()),
      isReady: () => client.isReady,
      command: (...args) => client.sendCommand(args),
      select: (database) => client.select(database),
      end: async () => {
        if (client.isOpen) client.destroy();
      },
    };
  };
  return {
    name,
    library: 'node-redis',
    hasKeyPrefix,
    hasPath: true,
    hasUrl: true,

    make,
  };
}

export const NODE_REDIS: readonly PromptFlavour[] = [
  nodeRedis('node-redis 6', (options) => createNodeRedis6(options), true),
  { ...nodeRedis('node-redis 5', (options) => createNodeRedis5(options), false), isMatrix: true },
];
