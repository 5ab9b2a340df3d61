/** Sessions that find their server by sentinels, through every client that can. */
import { Redis as Ioredis6 } from 'ioredis';
import { Redis as Ioredis5 } from 'ioredis-5';
import { Redis as Iovalkey } from 'iovalkey';
import { createSentinel } from 'redis';
import { Locks, type LocksOptions, type RedisClient } from '../../../src/index.ts';
import type { ServerBench } from '../../support/bench.ts';
import { type Extent, rowsOf } from '../../support/extent.ts';

import type { SentinelGroup } from '../../support/servers/sentinel-group.ts';

export type SentinelClient = 'ioredis 6' | 'ioredis 5.4' | 'iovalkey 0.4' | 'node-redis 6';

interface SentinelRow extends Extent {
  readonly kind: SentinelClient;
}

/** Both versions of ioredis and its sibling go by the same code of ours. */
const ROWS: readonly SentinelRow[] = [
  { kind: 'ioredis 6' },
  { kind: 'ioredis 5.4', isMatrix: true },
  { kind: 'iovalkey 0.4', isMatrix: true },
  { kind: 'node-redis 6' },
];

export const SENTINEL_CLIENTS: readonly SentinelClient[] = rowsOf(ROWS).map(({ kind }) => kind);

/** Which sentinels a session knows of. */
type Known = Pick<SentinelGroup, 'addresses' | 'name'>;

interface Finder {
  readonly client: RedisClient;
  end(): void;
}

/** The types of the two versions and of the sibling differ in ways that do not matter here. */
const REDIS = {
  'ioredis 6': Ioredis6,
  'ioredis 5.4': Ioredis5 as unknown as typeof Ioredis6,
  'iovalkey 0.4': Iovalkey as unknown as typeof Ioredis6,
};

/** Where servers are seen from here, by where the sentinels see them. */
type AddressMap = Record<string, { readonly host: string; readonly port: number }>;

/** The caller's client, never connected: it is a description. */
function finder(kind: SentinelClient, { addresses: sentinels, name }: Known, natMap: AddressMap): Finder {
  if (kind === 'node-redis 6') {
    const client = createSentinel({ name, sentinelRootNodes: sentinels, nodeAddressMap: natMap });
    client.on('error', () => {});
    return { client, end: () => {} };
  }
  const client = new REDIS[kind]({ sentinels, name, natMap, lazyConnect: true });
  client.on('error', () => {});
  return { client, end: () => client.disconnect() };
}

/** Longer than a busy machine takes for a first connection, for which node-redis makes much ado. */
const CALL_TIMEOUT_MS = 5_000;

/** A session of its own, as another process would have. */
export function sentinelSession(
  bench: ServerBench,
  group: Known,
  kind: SentinelClient,
  options: LocksOptions = {},
  natMap: AddressMap = {},
): Locks {
  const { client, end } = finder(kind, group, natMap);
  const locks = new Locks(client, { application: false, callTimeoutMs: CALL_TIMEOUT_MS, ...options });
  bench.onEnd(async () => {
    await locks.destroy();
    end();
  });
  return locks;
}
