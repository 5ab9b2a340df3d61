/** Ourselves, on both clients, as lock and as mutex, with and without hand-overs. */
import { Locks, type LocksOptions } from 'holdfast';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import type { Contestant } from '../contestant.ts';

export interface Entry {
  readonly client: 'ioredis' | 'node-redis';
  readonly kind: 'lock' | 'mutex';
  readonly options?: LocksOptions;
}

interface Connected {
  readonly locks: Locks;
  close(): Promise<void>;
}

async function connect(port: number, { client, options }: Entry): Promise<Connected> {
  if (client === 'ioredis') {
    const redis = new Redis(port, '127.0.0.1', { lazyConnect: true });
    const locks = new Locks(redis, options);
    return { locks, close: () => locks.close() };
  }
  const redis = createClient({ socket: { host: '127.0.0.1', port } });
  const locks = new Locks(redis, options);
  return { locks, close: () => locks.close() };
}

export async function holdfast(port: number, entry: Entry): Promise<Contestant> {
  const { locks, close } = await connect(port, entry);
  const { client, kind, options } = entry;
  const variant = options?.handovers === 0 ? ', handovers: 0' : '';
  return {
    name: `holdfast ${kind} on ${client}${variant}`,
    async once(key) {
      const lease = await locks[kind](key).acquire();
      await lease.release();
    },
    async under(key, section) {
      const lease = await locks[kind](key).acquire();
      try {
        await section();
      } finally {
        await lease.release();
      }
    },
    close,
  };
}
