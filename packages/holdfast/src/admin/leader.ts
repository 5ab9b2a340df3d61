/** Asks the servers who leads. */
import type { LeaderInfo } from '../primitives/leader/index.ts';
import { inspect } from './inspect.ts';
import type { AdminServers } from './servers.ts';

/** `key` is that of the leader's lock, `session` the one that asks. Null when nobody leads. */
export async function inspectLeader(
  servers: AdminServers,
  key: string,
  session: string,
): Promise<LeaderInfo | null> {
  const found = await inspect(servers, key, false);
  if (found?.kind !== 'leader') return null;
  const { owner, fence, ttlMs, waiters } = found;
  const leading = owner.split(':')[0] ?? owner;
  return { session: leading, isMe: leading === session, fence, ttlMs, waiters };
}
