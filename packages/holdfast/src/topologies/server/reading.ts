/** The reading of replies. One that makes no sense (a proxy, a client that maps replies) is no answer. */
import { CallFailure, type Reply } from '../../clients/client.ts';
import { describeReply } from '../../runtime/describe.ts';
import type { AcquireAnswer, Protocol, ReleaseAnswer } from '../old-topology.ts';

/** What the reply says, or `unknown`: it may have happened. */
export function read<Answer>(reply: Reply, decode: () => Answer): Answer | CallFailure {
  try {
    return decode();
  } catch (error) {
    return unreadable(reply, error);
  }
}

/** As `read`, without a closure: it is on every caller's way. */
export function decodeAcquire(protocol: Protocol, reply: Reply): AcquireAnswer | CallFailure {
  try {
    return protocol.decodeAcquire(reply);
  } catch (error) {
    return unreadable(reply, error);
  }
}

/** As `read`, without a closure: it is on every caller's way. */
export function decodeRelease(protocol: Protocol, reply: Reply): ReleaseAnswer | CallFailure {
  try {
    return protocol.decodeRelease(reply);
  } catch (error) {
    return unreadable(reply, error);
  }
}

function unreadable(reply: Reply, cause: unknown): CallFailure {
  return new CallFailure('unknown', `a reply we cannot read: ${describeReply(reply)}`, '', cause);
}
