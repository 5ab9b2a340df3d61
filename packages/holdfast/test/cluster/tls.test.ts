/** A cluster that is spoken to by TLS: also the connections that holdfast makes for itself. */
import { Cluster } from 'ioredis';
import { createCluster } from 'redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Locks, type RedisClient } from '../../src/index.ts';
import { makeGuardedFolder } from '../support/processes/process-guard.ts';
import { canMakeCertificates, makeCertificates } from '../support/servers/certificates.ts';
import {
  CALM,
  command,
  RedisCluster,
  type SecurePorts,
  securePorts,
} from '../support/servers/redis-cluster.ts';
import type { RedisServer } from '../support/servers/redis-server.ts';

/** A first call that takes too long is refused at once, and a handshake of TLS takes long on a busy machine. */
const AMPLE = { callTimeoutMs: 10_000 };

const isLeftOut = !canMakeCertificates();

let cluster: RedisCluster | undefined;
let secure: SecurePorts;

beforeAll(async () => {
  if (isLeftOut) return;
  secure = await securePorts(makeCertificates(makeGuardedFolder('holdfast-tls-')));
  cluster = new RedisCluster({ ...CALM, secure });
  await cluster.start();
}, 180_000);
afterAll(() => cluster?.stop());

interface Caller {
  readonly client: RedisClient;
  end(): void;
}

const CALLERS: readonly { readonly name: string; make(): Promise<Caller> }[] = [
  {
    name: 'ioredis 6',
    async make() {
      const nodes = secure.ports.map((port) => ({ host: '127.0.0.1', port }));
      const client = new Cluster(nodes, { redisOptions: { tls: { ca: secure.certificates.ca } } });
      client.on('error', () => {});
      return { client, end: () => client.disconnect() };
    },
  },
  {
    name: 'node-redis 6',
    async make() {
      const rootNodes = secure.ports.map((port) => ({ url: `rediss://127.0.0.1:${port}` }));
      const socket = { tls: true, ca: secure.certificates.ca } as const;
      const client = createCluster({ rootNodes, defaults: { socket } });
      for (const event of ['error', 'node-error']) client.on(event, () => {});
      await client.connect();
      return { client, end: () => client.destroy() };
    },
  },
];

/** The ports at which connections of ours have arrived. */
async function portsOfOurs(node: RedisServer): Promise<number[]> {
  const list = String(await command(node, 'CLIENT', 'LIST'));
  const ours = list.split('\n').filter((line) => line.includes(' name=holdfast'));
  return ours.map((line) => Number(/ laddr=\S+:(\d+) /.exec(line)?.[1]));
}

describe.skipIf(isLeftOut).each(CALLERS)('$name', ({ name, make }) => {
  test('locks on every shard, is woken, renews and releases, by TLS alone', async () => {
    const callers = [await make(), await make()];
    const [first, second] = callers.map(({ client }) => new Locks(client, AMPLE)) as [Locks, Locks];
    try {
      const names = Array.from({ length: 12 }, (_, i) => `${name}:${i}`);
      const leases = await Promise.all(names.map((each) => first.lock(each).acquire()));
      const waiting = Promise.all(names.map((each) => second.lock(each).acquire()));
      for (const lease of leases) await lease.extend(20_000);
      expect(await Promise.all(leases.map((lease) => lease.release()))).toEqual(names.map(() => true));
      const next = await waiting;
      const ports = await Promise.all(((await cluster?.primaries()) ?? []).map(portsOfOurs));
      expect(ports.every((shard) => shard.length > 0)).toBe(true);
      expect(ports.flat().filter((port) => !secure.ports.includes(port))).toEqual([]);
      expect(await Promise.all(next.map((lease) => lease.release()))).toEqual(names.map(() => true));
    } finally {
      await Promise.all([first.close(), second.close()]);
      for (const { end } of callers) end();
    }
  });
});
