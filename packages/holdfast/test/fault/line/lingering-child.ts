/**
 * A process that keeps a lock that nobody in it uses (`lingerMs`), says so, and ends in the way it is told:
 *
 * - `end`: it has nothing more to do.
 * - `exit`: it calls `process.exit`.
 * - by SIGTERM: it closes its locks first.
 */
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { Locks } from '../../../src/index.ts';
import { reach } from '../../support/locks/reach.ts';

export interface LingeringPlan {
  readonly port: number;
  readonly client: 'ioredis' | 'node-redis';
  readonly name: string;
  readonly leaseMs: number;
  readonly lingerMs: number;
}

export interface LingeringWord {
  readonly event: 'kept';
}

const { port, client, name, leaseMs, lingerMs } = JSON.parse(process.argv[2] ?? '') as LingeringPlan;
// Never connected itself, so that nothing of it keeps the process.
const own =
  client === 'ioredis'
    ? new Redis({ port, host: '127.0.0.1', lazyConnect: true })
    : createClient({ socket: { port, host: '127.0.0.1' } });
const locks = new Locks(own, { leaseMs, lingerMs });

const told = createInterface({ input: process.stdin });
process.once('SIGTERM', () => {
  process.stdin.destroy();
  void locks.close();
});

await reach(locks);
// The first holds are given back, until the process would hear that somebody wants the lock.
let isKept = false;
while (!isKept) {
  await locks.lock(name).using(() => {});
  const found = await locks.inspect(name);
  isKept = found?.kind === 'lock' && found.owner.startsWith(locks.session);
}
told.once('line', (line) => {
  process.stdin.destroy();
  if (line === '"exit"') process.exit(0);
});
writeSync(1, `${JSON.stringify({ event: 'kept' } satisfies LingeringWord)}\n`);
