/**
 * Leader election.
 *
 * In this folder: a leader, its campaign for the lock, a term, and its protocol. Only `locks.ts`, `index.ts` and
 * `admin/leader.ts` import from here, and only this file.
 */
import type { Session } from '../../locking/session.ts';
import { type LeaderOptions, resolveLeaderOptions } from '../../options/leader-options.ts';
import { Leader, type LeaderInfo } from './leader.ts';
import { LeaderProtocol } from './protocol.ts';

export type { LeaderOptions, LeaderRunOptions } from '../../options/leader-options.ts';
export type { Leader, LeaderEvents, LeaderInfo } from './leader.ts';
export type { LeaderBody, LeaderTerm } from './term.ts';

/** `key` is that of the leader's lock. `look` asks the server who leads. */
export function leaderOf(
  session: Session,
  { name, key }: { readonly name: string; readonly key: string },
  options: LeaderOptions,
  look: () => Promise<LeaderInfo | null>,
): Leader {
  const resolved = resolveLeaderOptions(options, session.options);
  return new Leader(session, new LeaderProtocol(name, key, session.options.fenceTtlMs), resolved, look);
}
