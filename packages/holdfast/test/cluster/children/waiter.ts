/** Waits for a lock of a cluster that somebody else has, until it is killed. */
import { Cluster } from 'ioredis';
import { Locks, type LocksOptions } from '../../../src/index.ts';
import { readTask, reportTrouble } from '../../process/children/talk.ts';

reportTrouble();
const { ports, name, pubsub, claimMs } = readTask<
  { ports: number[]; name: string } & Required<Pick<LocksOptions, 'pubsub' | 'claimMs'>>
>();
const cluster = new Cluster(
  ports.map((port) => ({ host: '127.0.0.1', port })),
  { lazyConnect: true },
);
// A process that has just begun on a busy machine takes long over its first call.
const locks = new Locks(cluster, { callTimeoutMs: 20_000, leaseMs: 60_000, pubsub, claimMs });
await locks.lock(name).acquire();
