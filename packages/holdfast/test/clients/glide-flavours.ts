import { GlideClient, type GlideClientConfiguration, Logger } from '@valkey/valkey-glide';
import type { Caller, CallerOptions, Flavour } from './caller.ts';

// It writes warnings to the terminal about every connection that we cut.
Logger.setLoggerConfig('off');

const LAZY = { lazyConnect: true, requestTimeout: 5_000 };

function configOf(options: CallerOptions): GlideClientConfiguration {
  const { port, database, username, password, ca } = options;
  return {
    ...LAZY,
    addresses: [{ host: ca === undefined ? '127.0.0.1' : 'localhost', port }],
    ...(database === undefined ? {} : { databaseId: database }),
    ...(password === undefined
      ? {}
      : { credentials: { password, ...(username === undefined ? {} : { username }) } }),
    ...(ca === undefined
      ? {}
      : { useTLS: true, advancedConfiguration: { tlsAdvancedConfiguration: { rootCertificates: ca } } }),
    ...options.glide,
  };
}

async function make(options: CallerOptions): Promise<Caller> {
  const client = await GlideClient.createClient(configOf(options));
  let isConnected = false;
  return {
    client,
    get footprint() {
      return { config: { ...Reflect.get(client, 'config') }, isConnected };
    },
    connect: async () => {
      await client.ping();
      isConnected = true;
    },
    isReady: () => isConnected,
    command: (...args) => client.customCommand(args),
    select: (database) => client.select(database),
    end: async () => {
      isConnected = false;
      client.close();
    },
  };
}

const TELLS_NOBODY = 'it reconnects by itself and does not report it';
const TELLS_NO_LISTENER = `${TELLS_NOBODY}: a listener that missed a message is woken by its timer`;

const DECLINES = {
  'goes out in its turn, also while the first connection is being made':
    'its native code has several threads: calls in flight may overtake each other',
  'is followed by one on a new connection': TELLS_NOBODY,
  'ends unreachable with the reason, long before its deadline':
    'it keeps trying to connect and does not report why it fails',
  'because it has no right to the channel ends as a reply and hurts no other':
    'it keeps retrying and only reports that it timed out',
  'is restored, and every listener is told that it may have missed something': TELLS_NO_LISTENER,
  'is restored although the first attempts fail': TELLS_NO_LISTENER,
  'is restored when it is lost again while it is being restored': TELLS_NO_LISTENER,
  'is restored when the server was killed and started again': TELLS_NO_LISTENER,
  'is not restored for a listener that stopped meanwhile': TELLS_NO_LISTENER,
  'is not held back by a listener whose connection is being restored': TELLS_NOBODY,
  'is not held back by closing a connection to a server that is frozen':
    'it keeps its socket referenced while it connects: the process lives on for up to five seconds',
};

export const GLIDE: readonly Flavour[] = [
  {
    name: 'GLIDE 2.5',
    library: 'GLIDE',
    // It takes its time to see that a connection cannot be had. The contract is asked of it in every run.
    isMatrix: true,
    hasKeyPrefix: false,
    hasPath: false,
    hasUrl: false,
    // It goes on trying, and keeps to itself what stands in its way.
    saysWhy: false,
    declines: DECLINES,
    make,
  },
];
