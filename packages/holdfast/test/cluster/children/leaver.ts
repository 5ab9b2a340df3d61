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
const [locks, other] = [new Locks(cluster), new Locks(cluster)];
const lease = await locks.lock('left').acquire();
const waiting = other.lock('left').acquire();
await lease.release();
await (await waiting).release();
if (isClosed) await Promise.all([locks.close(), other.close()]);
leave();
