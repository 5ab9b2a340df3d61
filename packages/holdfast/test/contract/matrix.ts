/** What the contract is run on. A new client or setting is a row here, not a suite. */
import type { LocksOptions } from '../../src/index.ts';
import { CLUSTER_FLAVOURS, IOREDIS_6 } from '../cluster/callers.ts';
import { type Extent, rowsOf } from '../support/extent.ts';
import { needs } from '../support/needs.ts';
import { canMakeCertificates } from '../support/servers/certificates.ts';
import { fetchedServers, type ServerProgram } from '../support/servers/server-program.ts';
import type { RestrictionKind } from './access.ts';
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
import { ioredis5BySentinels, ioredis6BySentinels, nodeRedis6BySentinels } from './sentinel-callers.ts';

export interface Row extends Extent {
  readonly title: string;
  readonly connect: Connect;
  /** How many independent servers decide. @default 1 */
  readonly servers?: number;
  /** Whether the servers are a cluster. @default false */
  readonly isCluster?: boolean;
  /** Whether sentinels name the server, which has two replicas. @default false */
  readonly isBySentinels?: boolean;
  /** Which server. @default the one on the path */
  readonly program?: ServerProgram;
  /** Whom the server lets in. @default everybody */
  readonly restriction?: RestrictionKind;
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

const FETCHED = fetchedServers();
const VALKEY = FETCHED.find(({ title }) => title.startsWith('Valkey'));
const hasValkey = needs('Valkey', VALKEY !== undefined, 'the contract on it (`npm run servers valkey-8.0`)');

/** The keys that the user may touch begin so. */
const LEAST_RIGHTS = { restriction: 'least rights', options: { prefix: 'locks:' } } as const;

const ROWS: readonly Row[] = [
  { title: 'ioredis 5.4.0', connect: ioredis5, isMatrix: true },
  { title: 'ioredis 6', connect: ioredis6 },
  { title: 'node-redis 5.0.0', connect: nodeRedis5, isMatrix: true },
  { title: 'node-redis 6', connect: nodeRedis6, isMatrix: true },
  // Where a Valkey is there, the row of that one stands for this.
  { title: 'iovalkey 0.4', connect: iovalkey, isMatrix: hasValkey },
  { title: 'GLIDE 2.5', connect: glide },
  { title: 'ioredis 6 in database 3', connect: ioredis6, db: 3, isMatrix: true },
  {
    title: 'node-redis 5.0.0 in database 3 with a prefix',
    connect: nodeRedis5,
    db: 3,
    options: { prefix: 'locks:' },
    isMatrix: true,
  },
  { title: 'ioredis 6 with a keyPrefix', connect: ioredis6, keyPrefix: 'app:', isMatrix: true },
  {
    title: 'ioredis 5.4.0 in database 3 with a keyPrefix and a prefix',
    connect: ioredis5,
    db: 3,
    keyPrefix: 'app:',
    options: { prefix: '[l]*' },
  },
  { title: 'ioredis 6 over TLS', connect: ioredis6, restriction: 'tls', isMatrix: true },
  { title: 'node-redis 6 over TLS', connect: nodeRedis6, restriction: 'tls' },
  { title: 'iovalkey 0.4 over TLS', connect: iovalkey, restriction: 'tls', isMatrix: true },
  { title: 'GLIDE 2.5 over TLS', connect: glide, restriction: 'tls', isMatrix: true },
  // The test of the page on rights asks every kind of call of the same user.
  { ...LEAST_RIGHTS, title: 'ioredis 6 with the least rights', connect: ioredis6, isMatrix: true },
  { ...LEAST_RIGHTS, title: 'node-redis 6 with the least rights', connect: nodeRedis6, isMatrix: true },
  { ...LEAST_RIGHTS, title: 'iovalkey 0.4 with the least rights', connect: iovalkey, isMatrix: true },
  { ...LEAST_RIGHTS, title: 'GLIDE 2.5 with the least rights', connect: glide, isMatrix: true },
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
  { title: 'ioredis 6 by sentinels', connect: ioredis6BySentinels, isBySentinels: true },
  {
    title: 'ioredis 5.4.0 by sentinels with a keyPrefix',
    connect: ioredis5BySentinels,
    isBySentinels: true,
    isMatrix: true,
    keyPrefix: 'app:',
  },
  {
    title: 'node-redis 6 by sentinels in database 3 with a prefix',
    connect: nodeRedis6BySentinels,
    isBySentinels: true,
    isMatrix: true,
    db: 3,
    options: { prefix: 'locks:' },
  },
  {
    title: 'ioredis 6 by sentinels with two replicas that acknowledge',
    connect: ioredis6BySentinels,
    isBySentinels: true,
    isMatrix: true,
    options: { replicas: { min: 2 } },
  },
  {
    title: 'node-redis 6 by sentinels with a replica that acknowledges',
    connect: nodeRedis6BySentinels,
    isBySentinels: true,
    isMatrix: true,
    options: { replicas: { min: 1 } },
  },
  { title: 'the embedded node by its own door', connect: inProcess, isEmbedded: true },
  { title: 'the embedded node through ioredis 6', connect: ioredis6, isEmbedded: true, isMatrix: true },
];

/** Every client on every further server. One of Valkey is asked in every run, if there is one. */
const FURTHER_ROWS: readonly Row[] = FETCHED.flatMap((program) => {
  const by = (client: string, connect: Connect, isMatrix = true): Row => ({
    title: `${client} on ${program.title}`,
    connect,
    program,
    isMatrix,
  });
  return [
    by('ioredis 6', ioredis6),
    by('node-redis 6', nodeRedis6),
    by('iovalkey 0.4', iovalkey, program !== VALKEY),
    by('GLIDE 2.5', glide),
  ];
});

/** A row over TLS needs certificates. */
const canBeAsked = ({ restriction }: Row): boolean => restriction !== 'tls' || canMakeCertificates();

export const MATRIX: readonly Row[] = rowsOf([...ROWS, ...FURTHER_ROWS]).filter(canBeAsked);

/** Whether several servers decide, or share the names, or one is chosen among them. */
export function isOfSeveralServers({ servers = 1, isCluster, isBySentinels }: Row): boolean {
  return servers > 1 || isCluster === true || isBySentinels === true;
}
