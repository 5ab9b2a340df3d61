import { Redis as Ioredis6, type RedisOptions } from 'ioredis';
import { Redis as Ioredis5 } from 'ioredis-5';
import { Redis as Iovalkey } from 'iovalkey';
import { type Caller, type CallerOptions, defined, listenersOf, type PromptFlavour } from './caller.ts';

/** The one option on which the type of a client depends. */
type OwnOptions = Omit<RedisOptions, 'replyMapping'>;

/** And gone at once when the test ends it: by default it keeps a timer for two seconds. */
const LAZY = { lazyConnect: true, disconnectTimeout: 0 };

function ioredis(name: string, Redis: typeof Ioredis6): PromptFlavour {
  const make = (options: CallerOptions): Caller => {
    const own: OwnOptions = {
      ...LAZY,
      port: options.port,
      host: '127.0.0.1',
      ...defined({ db: options.database, username: options.username, password: options.password }),
      ...defined({ path: options.path, keyPrefix: options.keyPrefix }),
      ...(options.ca === undefined ? {} : { host: 'localhost', tls: { ca: options.ca } }),
      ...options.ioredis,
    };
    const client = options.url === undefined ? new Redis(own) : new Redis(options.url, LAZY);
    client.on('error', () => {});
    return {
      client,
      get footprint() {
        return { listeners: listenersOf(client), options: { ...client.options }, status: client.status };
      },
      connect: () => client.connect(),
      isReady: () => client.status === 'ready',
      command: (verb = '', ...args) => client.call(verb, ...args),
      select: (database) => client.select(database),
      end: async () => client.disconnect(),
    };
  };
  return {
    name,
    library: 'ioredis',
    hasKeyPrefix: true,
    hasPath: true,
    hasUrl: true,

    make,
  };
}

export const IOREDIS: readonly PromptFlavour[] = [
  ioredis('ioredis 6', Ioredis6),
  // The types of the three differ in ways that do not matter here.
  { ...ioredis('ioredis 5.4', Ioredis5 as unknown as typeof Ioredis6), isMatrix: true },
  ioredis('iovalkey 0.4', Iovalkey as unknown as typeof Ioredis6),
];
