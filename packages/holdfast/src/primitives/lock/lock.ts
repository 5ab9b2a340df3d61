import type { FencedLease } from '../../locking/lease.ts';
import type { Owner } from '../../locking/owner.ts';
import type { ENDED } from '../../locking/reentry.ts';
import type { Session } from '../../locking/session.ts';
import type { ResolvedAcquireOptions } from '../../options/options.ts';
import { Exclusive } from '../acquirable.ts';

/**
 * A re-entrant lock with fences, on Redisson's keys: it excludes, and is woken by, Java's `RLock` and
 * `RFencedLock` of the same name.
 *
 * It is NOT safe to assume that it is held until `release`: leases end. Look at `lease.isHeld`, pass
 * `lease.signal` on, and give `lease.fence` to what you protect.
 */
export class Lock extends Exclusive<FencedLease> {
  static {
    Exclusive.showAs(this, 'Lock');
  }

  protected override enterAgain(
    session: Session,
    above: Owner,
    options: ResolvedAcquireOptions,
    startedMs: number,
  ): Promise<Owner | null | typeof ENDED> {
    return session.reentry.enter(above, options, startedMs);
  }
}
