/** One question to one server, over a connection of its own that ends with it. */
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import { CallFailure } from '../client.ts';
import type { NodeDriver, NodeWire } from './raw-connection.ts';
import { reasonOf, replyFailure, replyWord } from './reply-errors.ts';

/** How long it may take, connecting included. A server that is well answers in a fraction of it. */
const INQUIRY_MS_MAX = 2_000;

const CLOSED = 'the client was closed before the answer came';

/** Gives the reply in the shape that the client gives it, or why there was none. */
export async function inquire(
  driver: NodeDriver,
  question: readonly string[],
  timers: TimerQueue,
  signal: AbortSignal,
): Promise<unknown> {
  // A listener that is added to a signal after it has fired is never called.
  if (signal.aborted) return failureOf(new Error(CLOSED));
  let fail: (cause: unknown) => void = () => {};
  const failed = new Promise<CallFailure>((resolve) => {
    fail = (cause) => resolve(failureOf(cause));
  });
  const deadline = new Deadline(() => fail(new Error(`no answer within ${INQUIRY_MS_MAX} ms`)), true);
  const abort = (): void => fail(new Error(CLOSED));
  timers.setIn(deadline, INQUIRY_MS_MAX);
  signal.addEventListener('abort', abort, { once: true });
  let wire: NodeWire | null = null;
  try {
    wire = driver.dial({ lost: fail, message: () => {} });
    const answer = wire.connect().then(() => wire?.command(question));
    return await Promise.race([answer.catch(failureOf), failed]);
  } catch (error) {
    return failureOf(error);
  } finally {
    timers.cancel(deadline);
    signal.removeEventListener('abort', abort);
    wire?.drop();
  }
}

function failureOf(cause: unknown): CallFailure {
  const word = replyWord(cause);
  return word === null
    ? new CallFailure('unreachable', reasonOf(cause), '', cause)
    : replyFailure(cause, word);
}
