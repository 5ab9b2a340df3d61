/** One process with holdfast, from source, with default settings. */
import { Redis } from 'ioredis';
import { Locks, LockTimeoutError } from '../../packages/holdfast/src/index.ts';
import { answerRequests, type Library, type Taken } from './answer-requests.ts';

const client = new Redis({ port: Number(process.argv[2]), host: '127.0.0.1', lazyConnect: true });
// A counter of fences that Java shares must never expire: Redisson's has no expiry.
const locks = new Locks(client, { fenceTtlMs: 0 });

const library: Library = {
  async take(kind, name, limits) {
    try {
      return kind === 'mutex' ? await takeMutex(name, limits) : await takeLock(name, limits);
    } catch (error) {
      if (error instanceof LockTimeoutError) return null;
      throw error;
    }
  },
};

type Limits = Parameters<Library['take']>[2];

async function takeLock(name: string, limits: Limits): Promise<Taken> {
  const lease = await locks.lock(name).acquire(limits);
  return { fence: lease.fence, free: () => lease.release() };
}

async function takeMutex(name: string, limits: Limits): Promise<Taken> {
  const lease = await locks.mutex(name).acquire(limits);
  return { fence: 0, free: () => lease.release() };
}

// Connected before it says that it is ready.
await locks.inspect('warm-up');
answerRequests(library);
