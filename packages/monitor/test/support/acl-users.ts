/** Users of a server with the rights that a test gives them, and what the server refused them. */
import { expect } from 'vitest';
import { ask, asStrings } from '../../../holdfast/test/support/servers/raw-redis.ts';
import type { RedisServer } from '../../../holdfast/test/support/servers/redis-server.ts';

export interface AclUser {
  readonly username: string;
  readonly password: string;
}

/** A name with the signs of rules in it is good for a user too. */
export async function addUser(
  { port }: RedisServer,
  name: string,
  words: readonly string[],
): Promise<AclUser> {
  expect(await ask(port, ['ACL', 'SETUSER', name, 'reset', 'on', '>pass', ...words])).toBe('OK');
  return { username: name, password: 'pass' };
}

/** What was refused to that user, but for what its client asks for by itself: its name, and the ready check. */
export async function refusedTo({ port }: RedisServer, user: string): Promise<string[]> {
  const log = await ask(port, ['ACL', 'LOG', '10000']);
  const entries = Array.isArray(log) ? log.map((entry) => asStrings(entry)) : [];
  const of = (entry: readonly string[], field: string): string => entry[entry.indexOf(field) + 1] ?? '';
  const refused = entries
    .filter((entry) => of(entry, 'username') === user)
    .map((entry) => of(entry, 'object'));
  return refused.filter((object) => !object.startsWith('client'));
}
