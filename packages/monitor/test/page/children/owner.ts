/** A program with a lock: takes it, waiting in line if need be, works until it hears a word, and says when it is lost. */
import { Redis } from 'ioredis';
import { Locks } from '../../../../holdfast/src/index.ts';
import { nextWord, readTask, say } from '../../../../holdfast/test/process/children/talk.ts';

export interface OwnerTask {
  readonly port: number;
  readonly application: string;
  readonly name: string;
  readonly leaseMs: number;
  /** Takes the lock again when it was lost: on a machine that stalls a short lease may end before anybody has looked. */
  readonly isStubborn?: boolean;
}

export interface OwnerLine {
  readonly held?: true;
  /** The words of the `LockLostError`. */
  readonly lost?: string;
}

const WAIT_MS = 120_000;

const { port, application, name, leaseMs, isStubborn = false } = readTask<OwnerTask>();
const redis = new Redis(port, '127.0.0.1', { lazyConnect: true });
const locks = new Locks(redis, { application, leaseMs });
const word = nextWord();
while (await hold());
await word;
await locks.close();
redis.disconnect();

/** Holds the lock once. Whether it is to be taken again. */
async function hold(): Promise<boolean> {
  const lease = await locks.lock(name).acquire({ waitMs: WAIT_MS });
  say({ held: true } satisfies OwnerLine);
  const lost = new Promise<'lost'>((resolve) => {
    lease.signal.addEventListener('abort', () => resolve('lost'), { once: true });
    if (lease.signal.aborted) resolve('lost');
  });
  if ((await Promise.race([word, lost])) !== 'lost') {
    await lease.release();
    return false;
  }
  say({ lost: String(lease.signal.reason) } satisfies OwnerLine);
  return isStubborn;
}
