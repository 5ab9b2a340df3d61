import { LockProtocol } from '../lock/protocol.ts';

/** The lock of a leader: an ordinary lock with its line, under a key of its own. */
export class LeaderProtocol extends LockProtocol {
  override get kind(): string {
    return 'leader';
  }
}
