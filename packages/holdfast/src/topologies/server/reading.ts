/** The reading of replies. A reply that makes no sense (a proxy, a client that maps replies) is no answer. */
import { CallFailure, type Reply } from '../../clients/client.ts';
import { describeReply } from '../../runtime/describe.ts';

/** What the reply says, or `unknown`: the call may have happened. */
export function read<Answer>(reply: Reply, decode: () => Answer): Answer | CallFailure {
  try {
    return decode();
  } catch (error) {
    return new CallFailure('unknown', `a reply we cannot read: ${describeReply(reply)}`, '', error);
  }
}
