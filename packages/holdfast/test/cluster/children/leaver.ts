/** Takes a lock of a cluster, waits for one, lets go of both, and has nothing left to do. */
import { Cluster } from 'ioredis';
import { Locks } from '../../../src/index.ts';
import { leave, readTask, reportTrouble } from '../../process/children/talk.ts';

reportTrouble();
const { ports, isClosed } = readTask<{ ports: number[]; isClosed: boolean }>();
const cluster = new Cluster(
  ports.map((port) => ({ host: '127.0.0.1', port })),
  { lazyConnect: true },
);
// A process that has just begun on a busy machine takes long over its first call.
const options = { callTimeoutMs: 10_000 };
const [locks, other] = [new Locks(cluster, options), new Locks(cluster, options)];
const lease = await locks.lock('left').acquire();
const waiting = other.lock('left').acquire();
await lease.release();
await (await waiting).release();
if (isClosed) await Promise.all([locks.close(), other.close()]);
leave();
