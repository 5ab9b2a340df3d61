/** Locks that somebody holds while a command looks at them: sessions of the library, and other programs. */
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { Locks, type LocksOptions } from '../../../holdfast/src/index.ts';
import { lineOf } from '../../../holdfast/test/support/locks/kind.ts';
import { ask } from '../../../holdfast/test/support/servers/raw-redis.ts';
import type { RedisServer } from '../../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../../holdfast/test/support/wait-for.ts';

/** Longer than a busy machine stands still: these sessions are looked at, and not what they bear. */
const CALL_TIMEOUT_MS = 20_000;

/** A session of the library until the end of the test; with an application it has a record. */
export function openLocks(
  { port }: RedisServer,
  application: string | false = false,
  options: LocksOptions = {},
): Locks {
  const client = new Redis(port, { lazyConnect: true });
  const locks = new Locks(client, { callTimeoutMs: CALL_TIMEOUT_MS, ...options, application });
  onTestFinished(() => locks.close());
  return locks;
}

export function recordKey(session: string): string {
  return `holdfast_session:${session}`;
}

/** A session writes its record in the background: until it is there. */
export async function untilRecorded({ port }: RedisServer, session: string): Promise<void> {
  await waitFor(async () => (await ask(port, ['EXISTS', recordKey(session)])) === 1, { what: 'the record' });
}

/** The session of whoever holds that lock. */
export async function sessionOf({ port }: RedisServer, name: string): Promise<string> {
  const [owner = ''] = [await ask(port, ['HKEYS', name])].flat().map(String);
  return owner.split(':')[0] ?? '';
}

/** How many processes are in the line of that name. */
export async function inLine({ port }: RedisServer, name: string): Promise<number> {
  const fields = [await ask(port, ['HKEYS', lineOf(name)])].flat().map(String);
  return fields.filter((field) => /^\d+$/.test(field)).length;
}

/** A holder of Redisson: no fence, no record. */
export const JAVA = '8743c9c0-0795-4907-87fd-6c719a6b4586:41';

/** Holds a lock as another program does, until the end of the test. */
export async function holdAs(
  { port }: RedisServer,
  name: string,
  owner: string = JAVA,
  count = 1,
): Promise<void> {
  await ask(port, ['HSET', name, owner, String(count)]);
  await ask(port, ['PEXPIRE', name, '600000']);
  onTestFinished(async () => void (await ask(port, ['DEL', name])));
}
