/**
 * In this folder: the lock and its protocol. Leaders, jobs and once keys are locks of this format under other keys.
 * Only `locks.ts`, `index.ts` and the other kinds in `primitives/` import from here.
 */
import type { FencedLease } from '../../locking/lease.ts';
import type { Session } from '../../locking/session.ts';
import { Acquirable } from '../acquirable.ts';
import { LockProtocol } from './protocol.ts';

/**
 * A re-entrant lock with fences, on Redisson's keys: it excludes, and is woken by, Java's `RLock` and
 * `RFencedLock` of the same name.
 *
 * It is NOT safe to assume that it is held until `release`: leases end. Look at `lease.isHeld`, pass
 * `lease.signal` on, and give `lease.fence` to what you protect.
 */
export class Lock extends Acquirable<FencedLease> {
  static {
    Acquirable.showAs(this, 'Lock');
  }
}

export function lockOf(session: Session, name: string, key: string): Lock {
  return new Lock(session, new LockProtocol(name, key, session.options.fenceTtlMs));
}
