/** The requests that can be walked, on real servers. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Lease, Locks } from '../../packages/holdfast/src/index.ts';
import { lineKey } from '../../packages/holdfast/src/keys/name.ts';
import { CLAIM_MS_DEFAULT } from '../../packages/holdfast/src/options/options.ts';
import { startRedis } from '../../packages/holdfast/test/support/servers/redis-server.ts';
import type { Build } from './build.ts';
import type { Work } from './coverage.ts';

type Holdfast = typeof import('../../packages/holdfast/src/index.ts');

/** What is called of the command line's reader of locks. */
interface Reader {
  inspect(name: string): Promise<{ readonly kind: string } | null>;
  view(found: { readonly kind: string }): Promise<unknown>;
  close(): Promise<void>;
}
interface ReaderModule {
  readonly LockReader: { open(flags: { readonly redis: readonly string[] }): Promise<Reader> };
}

const NAME = 'walk';
/** Renewed after a third, so that a walk of the renewal takes two seconds; and long enough for a busy machine. */
const LEASE_MS = 2_400;
/** The fields of a line that nobody waits in (lua/include/line.lua). */
const LINE_FIELDS = 8;
const POLL_MS = 5;
const UNTIL_MS_MAX = 10_000;

/** Releases what a request has opened, in reverse order. */
type Defer = (close: () => unknown) => void;

export interface WalkRequest {
  readonly about: string;
  prepare(build: Build, defer: Defer): Promise<Work>;
}

async function openClient(defer: Defer): Promise<Redis> {
  const server = await startRedis();
  defer(() => server.stop());
  const client = new Redis(server.port, '127.0.0.1');
  defer(() => client.disconnect());
  return client;
}

async function openSession(build: Build, defer: Defer, clients: readonly Redis[]): Promise<Locks> {
  const { Locks } = (await import(build.compiled('packages/holdfast/src/index.ts'))) as Holdfast;
  const [client, ...others] = clients;
  if (client === undefined) throw new Error('expected at least one server');
  // The record of the session is written beside the request, at any moment. The restart guard would keep new servers
  // from voting.
  const options = { application: false, restartGuardMs: 0 } as const;
  const locks = others.length === 0 ? new Locks(client, { application: false }) : new Locks(clients, options);
  defer(() => locks.close());
  return locks;
}

async function openLocks(build: Build, defer: Defer, servers: number) {
  const clients: Redis[] = [];
  for (let i = 0; i < servers; i += 1) clients.push(await openClient(defer));
  const [client] = clients;
  if (client === undefined) throw new Error('expected at least one server');
  return { locks: await openSession(build, defer, clients), client };
}

/** Asks the server again and again until the answer is yes. */
async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const startedMs = performance.now();
  do {
    if (performance.now() - startedMs > UNTIL_MS_MAX) throw new Error(`expected within time: ${isTrue}`);
    await sleep(POLL_MS);
  } while (!(await isTrue()));
}

async function acquireAndRelease(locks: Locks): Promise<void> {
  const lease = await locks.lock(NAME).acquire();
  await lease.release();
}

export const REQUESTS: Readonly<Record<string, WalkRequest>> = {
  acquire: {
    about: 'uncontended acquire and release',
    async prepare(build, defer) {
      const { locks } = await openLocks(build, defer, 1);
      return { run: () => acquireAndRelease(locks) };
    },
  },
  contended: {
    about: 'two callers of one process, with a hand-over',
    async prepare(build, defer) {
      const { locks } = await openLocks(build, defer, 1);
      return {
        async run() {
          const [first, second] = [locks.lock(NAME).acquire(), locks.lock(NAME).acquire()];
          await (await first).release();
          await (await second).release();
        },
      };
    },
  },
  line: {
    about: 'two processes on one server: the second waits in the line until the first releases',
    async prepare(build, defer) {
      const { locks, client } = await openLocks(build, defer, 1);
      // A session of its own, which shares only the server with the other: to Redis another process.
      const second = await openSession(build, defer, [client]);
      let held: Lease | undefined;
      return {
        async ready() {
          held = await locks.lock(NAME).acquire();
        },
        async run() {
          const waiting = second.lock(NAME).acquire();
          await until(async () => (await client.hlen(lineKey(NAME))) > LINE_FIELDS);
          await held?.release();
          const lease = await waiting;
          await until(async () => (await client.pttl(NAME)) > CLAIM_MS_DEFAULT);
          await lease.release();
        },
      };
    },
  },
  renewal: {
    about: 'renewal of a lease, then its loss because the key is gone',
    async prepare(build, defer) {
      const { locks, client } = await openLocks(build, defer, 1);
      let lost: Promise<unknown> = Promise.resolve();
      return {
        async ready() {
          const lease = await locks.lock(NAME).acquire({ leaseMs: LEASE_MS });
          lost = once(lease.signal, 'abort');
        },
        async run() {
          await sleep(LEASE_MS / 2);
          await client.del(NAME);
          await lost;
        },
      };
    },
  },
  quorum: {
    about: 'acquire and release on three servers',
    async prepare(build, defer) {
      const { locks } = await openLocks(build, defer, 3);
      return { run: () => acquireAndRelease(locks) };
    },
  },
  inspect: {
    about: 'a held lock, as the command line reads it',
    async prepare(build, defer) {
      const { locks, client } = await openLocks(build, defer, 1);
      const path = build.compiled('packages/cli/src/locks/lock-reader.ts');
      const { LockReader } = (await import(path)) as ReaderModule;
      await locks.lock(NAME).acquire();
      const reader = await LockReader.open({ redis: [`redis://127.0.0.1:${client.options.port}`] });
      defer(() => reader.close());
      return {
        async run() {
          const found = await reader.inspect(NAME);
          if (found === null) throw new Error('expected a held lock');
          await reader.view(found);
        },
      };
    },
  },
};
