/** A program with a lock: takes it, waiting in line if need be, works until it hears a word, and says when it is lost. */
import { Redis } from 'ioredis';
import { Locks } from '../../../../holdfast/src/index.ts';
import { nextWord, readTask, say } from '../../../../holdfast/test/process/children/talk.ts';

export interface OwnerTask {
  readonly port: number;
  readonly application: string;
  readonly name: string;
  readonly leaseMs: number;
}

export interface OwnerLine {
  readonly held?: true;
  /** The words of the `LockLostError`. */
  readonly lost?: string;
}

const WAIT_MS = 120_000;

const { port, application, name, leaseMs } = readTask<OwnerTask>();
const redis = new Redis(port, '127.0.0.1', { lazyConnect: true });
const locks = new Locks(redis, { application, leaseMs });
const lease = await locks.lock(name).acquire({ waitMs: WAIT_MS });
say({ held: true } satisfies OwnerLine);
lease.signal.addEventListener('abort', () => say({ lost: String(lease.signal.reason) } satisfies OwnerLine));
await nextWord();
await lease.release();
await locks.close();
redis.disconnect();
