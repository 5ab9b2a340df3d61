/** Wants a lock of a cluster whose nodes say nothing, and is destroyed while it still looks for one that does. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster } from 'ioredis';
import { Locks } from '../../../src/index.ts';
import { leave, readTask, reportTrouble, say } from '../../process/children/talk.ts';

reportTrouble();
const { ports } = readTask<{ ports: number[] }>();
const cluster = new Cluster(
  ports.map((port) => ({ host: '127.0.0.1', port })),
  { lazyConnect: true },
);
// It must not give up by itself before it is destroyed.
const locks = new Locks(cluster, { callTimeoutMs: 20_000 });
locks
  .lock('wanted')
  .acquire()
  .catch((error: unknown) => say({ code: (error as { code?: unknown }).code }));
await sleep(100);
await locks.destroy();
leave();
