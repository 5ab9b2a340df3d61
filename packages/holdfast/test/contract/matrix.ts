/** What the contract is run on. A new client or setting is a row here, not a suite. */
import type { LocksOptions } from '../../src/index.ts';
import { CLUSTER_FLAVOURS, IOREDIS_6 } from '../cluster/callers.ts';
import { type Extent, rowsOf } from '../support/extent.ts';
import {
  type Connect,
  clusterOf,
  glide,
  inProcess,
  ioredis5,
  ioredis6,
  iovalkey,
  nodeRedis5,
  nodeRedis6,
} from './callers.ts';

export interface Row extends Extent {
  readonly title: string;
  readonly connect: Connect;
  /** How many independent servers decide. @default 1 */
  readonly servers?: number;
  /** Whether the servers are a cluster. @default false */
  readonly isCluster?: boolean;
  /** Whether the server is the embedded node. @default false */
  readonly isEmbedded?: boolean;
  /** The database that the caller's client is in. @default 0 */
  readonly db?: number;
  /** The caller's own, set on its client. @default '' */
  readonly keyPrefix?: string;
  /** Given to every `Locks`, unless the rule says otherwise. */
  readonly options?: LocksOptions;
}

const CLUSTERS: readonly Row[] = CLUSTER_FLAVOURS.map((flavour) => ({
  title: `a cluster through ${flavour.name}`,
  connect: clusterOf(flavour),
  isCluster: true,
  isMatrix: flavour !== IOREDIS_6,
}));

export const MATRIX: readonly Row[] = rowsOf<Row>([
  { title: 'ioredis 5.4.0', connect: ioredis5, isMatrix: true },
  { title: 'ioredis 6', connect: ioredis6 },
  { title: 'node-redis 5.0.0', connect: nodeRedis5, isMatrix: true },
  { title: 'node-redis 6', connect: nodeRedis6, isMatrix: true },
  { title: 'iovalkey 0.4', connect: iovalkey },
  { title: 'GLIDE 2.5', connect: glide },
  { title: 'ioredis 6 in database 3', connect: ioredis6, db: 3, isMatrix: true },
  {
    title: 'node-redis 5.0.0 in database 3 with a prefix',
    connect: nodeRedis5,
    db: 3,
    options: { prefix: 'locks:' },
  },
  { title: 'ioredis 6 with a keyPrefix', connect: ioredis6, keyPrefix: 'app:', isMatrix: true },
  {
    title: 'ioredis 5.4.0 with a keyPrefix and a prefix',
    connect: ioredis5,
    keyPrefix: 'app:',
    options: { prefix: '[l]*' },
  },
  {
    title: 'ioredis 6 on a shared connection',
    connect: ioredis6,
    options: { shareConnection: true },
    isMatrix: true,
  },
  { title: 'node-redis 6 on a shared connection', connect: nodeRedis6, options: { shareConnection: true } },
  { title: 'ioredis 6 without hand-overs', connect: ioredis6, options: { handovers: 0 }, isMatrix: true },
  { title: 'ioredis 6 without bundles', connect: ioredis6, options: { bundleMax: 1 }, isMatrix: true },
  {
    title: 'ioredis 6 by a quorum of three',
    connect: ioredis6,
    servers: 3,
    // The servers have just started, and the machine may stall.
    options: { restartGuardMs: 0, nodeTimeoutMs: 1_500 },
  },
  ...CLUSTERS,
  { title: 'the embedded node by its own door', connect: inProcess, isEmbedded: true },
  { title: 'the embedded node through ioredis 6', connect: ioredis6, isEmbedded: true, isMatrix: true },
]);
