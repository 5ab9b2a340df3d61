import { LockConfigError } from '../../errors.ts';
import { lossAgain, quoted } from '../../locking/failures.ts';
import type { Lease } from '../../locking/lease.ts';
import type { Owner } from '../../locking/owner.ts';
import type { Session } from '../../locking/session.ts';
import { Exclusive } from '../acquirable.ts';

/**
 * A plain mutex: a string key with a random token, the format of the Redis documentation and of node-redlock,
 * redsync and redis-py on one server. Not re-entrant, and without a fence: its key is all it writes.
 *
 * It is NOT safe to assume that it is held until `release`: leases end. Look at `lease.isHeld` and pass
 * `lease.signal` on.
 */
export class Mutex extends Exclusive<Lease> {
  static {
    Exclusive.showAs(this, 'Mutex');
  }

  protected override enterAgain(_session: Session, above: Owner): Promise<never> {
    if (above.loss !== null) return Promise.reject(lossAgain(above.loss));
    // Waiting here would be waiting for oneself.
    const message = `${quoted(above.hold.protocol)}: this call chain holds it already, and a mutex cannot be entered twice; use lock() for that`;
    return Promise.reject(new LockConfigError(message, { lock: above.hold.protocol.name }));
  }
}
