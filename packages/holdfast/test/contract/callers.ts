/** The clients that callers bring, each as an application would make it. */
import { GlideClient, Logger } from '@valkey/valkey-glide';
import type { EmbeddedNode } from 'holdfast-testing';
import { Redis as Ioredis6 } from 'ioredis';
import { Redis as Ioredis5 } from 'ioredis-5';
import { Redis as Iovalkey } from 'iovalkey';
import { createClient as createNodeRedis6 } from 'redis';
import { createClient as createNodeRedis5 } from 'redis-5';
import type { RedisClient } from '../../src/index.ts';
import type { ClusterFlavour } from '../cluster/callers.ts';
import type { SentinelGroup } from '../support/servers/sentinel-group.ts';
import type { Access } from './access.ts';

export interface CallerOptions extends Access {
  readonly port: number;
  readonly db: number;
  readonly keyPrefix: string;
  /** The server, when it is one in this process. */
  readonly node: EmbeddedNode | null;
  /** Who names the server, when sentinels do. */
  readonly sentinels: SentinelGroup | null;
}

/** A connected client of somebody's application. */
export interface Caller {
  readonly client: RedisClient | readonly RedisClient[];
  /** A command of the application's own: the client is still good for what it was made for. */
  ping(): Promise<unknown>;
  close(): Promise<unknown>;
}

export type Connect = (options: CallerOptions) => Promise<Caller>;

const HOST = '127.0.0.1';

/** What the shape of ioredis takes. */
function ioredisOptions({ port, db, keyPrefix, username, password, ca }: CallerOptions) {
  return {
    ...{ host: HOST, port, db, keyPrefix, lazyConnect: true },
    ...(password === undefined ? {} : { username: username ?? 'default', password }),
    ...(ca === undefined ? {} : { tls: { ca } }),
  };
}

function nodeRedisOptions({ port, db, username, password, ca }: CallerOptions) {
  return {
    socket: ca === undefined ? { host: HOST, port } : { host: HOST, port, tls: true as const, ca },
    database: db,
    ...(password === undefined ? {} : { username: username ?? 'default', password }),
  };
}

/** The clients of ioredis's shape; their full types are unrelated. */
function ofIoredis(Client: typeof Ioredis6): Connect {
  return async (options) => {
    const client = new Client(ioredisOptions(options));
    await client.connect();
    return { client, ping: () => client.ping(), close: () => client.quit() };
  };
}

export const ioredis6: Connect = ofIoredis(Ioredis6);
export const ioredis5: Connect = ofIoredis(Ioredis5 as unknown as typeof Ioredis6);
export const iovalkey: Connect = ofIoredis(Iovalkey as unknown as typeof Ioredis6);

// It writes warnings to the terminal about every connection that a rule cuts.
Logger.setLoggerConfig('off');

export async function glide({ port, db, username, password, ca }: CallerOptions): Promise<Caller> {
  // On a busy machine its own quarter of a second is not enough to connect.
  const client = await GlideClient.createClient({
    addresses: [{ host: HOST, port }],
    databaseId: db,
    requestTimeout: 5_000,
    ...(password === undefined ? {} : { credentials: { username: username ?? 'default', password } }),
    ...(ca === undefined
      ? {}
      : { useTLS: true, advancedConfiguration: { tlsAdvancedConfiguration: { rootCertificates: ca } } }),
  });
  return { client, ping: () => client.ping(), close: async () => client.close() };
}

/** What the two versions of node-redis have in common. */
interface NodeRedis {
  duplicate(options: ReturnType<typeof nodeRedisOptions>): NodeRedis;
  on(event: 'error', listener: () => void): unknown;
  connect(): Promise<unknown>;
  ping(): Promise<unknown>;
  close(): Promise<unknown>;
}

/**
 * The template is never connected. Making a client builds a class of all its commands, which costs version 5 a good part
 * of a second and everything else in this process too; a duplicate is as good as a client of its own, and costs nothing.
 */
function ofNodeRedis(template: NodeRedis): Connect {
  return async (options) => {
    const client = template.duplicate(nodeRedisOptions(options));
    client.on('error', () => {});
    await client.connect();
    return {
      client: client as unknown as RedisClient,
      ping: () => client.ping(),
      close: () => client.close(),
    };
  };
}

// The types of the two versions differ in ways that do not matter here.
export const nodeRedis6: Connect = ofNodeRedis(createNodeRedis6() as unknown as NodeRedis);
export const nodeRedis5: Connect = ofNodeRedis(createNodeRedis5() as unknown as NodeRedis);

/** No client at all: the embedded node's own door. A session closes what it was given, so each gets one of its own. */
export async function inProcess({ node }: CallerOptions): Promise<Caller> {
  if (node === null) throw new Error('this door leads to a server in this process only');
  return {
    get client() {
      return node.client();
    },
    ping: () => node.command('PING'),
    close: () => Promise.resolve(),
  };
}

/** A client of a whole cluster, found by one of its nodes. */
export function clusterOf(flavour: ClusterFlavour): Connect {
  return async ({ port, keyPrefix }) => {
    const prefix = keyPrefix === '' ? {} : { keyPrefix };
    const { client, ping, end } = await flavour.make([port], prefix);
    return { client, ping, close: async () => end() };
  };
}

/** Clients of several servers, brought as one. */
export async function several(
  connect: Connect,
  ports: readonly number[],
  options: CallerOptions,
): Promise<Caller> {
  const callers = await Promise.all(ports.map((port) => connect({ ...options, port })));
  return {
    client: callers.map(({ client }) => client as RedisClient),
    ping: async () => (await Promise.all(callers.map((caller) => caller.ping())))[0],
    close: () => Promise.all(callers.map((caller) => caller.close())),
  };
}
