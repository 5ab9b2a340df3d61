/**
 * In this folder: the mutex and its protocol. Only `locks.ts` and `index.ts` import from here.
 */
import type { Lease } from '../../locking/lease.ts';
import type { Session } from '../../locking/session.ts';
import { Acquirable } from '../acquirable.ts';
import { MutexProtocol } from './protocol.ts';

/**
 * A plain mutex: a string key with a random token, the format of the Redis documentation and of node-redlock,
 * redsync and redis-py on one server. Not re-entrant, and without a fence: its key is all it writes.
 *
 * It is NOT safe to assume that it is held until `release`: leases end. Look at `lease.isHeld` and pass
 * `lease.signal` on.
 */
export class Mutex extends Acquirable<Lease> {
  static {
    Acquirable.showAs(this, 'Mutex');
  }
}

export function mutexOf(session: Session, name: string, key: string): Mutex {
  return new Mutex(session, new MutexProtocol(name, key));
}
