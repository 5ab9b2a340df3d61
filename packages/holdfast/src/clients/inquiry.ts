/** One question to one server, over a connection of its own that ends with it. */
import { type Agenda, Alarm } from '../core/agenda.ts';
import { CallFailure } from './client.ts';
import { reasonOf, replyFailure, replyWord } from './reason.ts';
import type { NodeDriver, NodeWire } from './wire.ts';

/** How long it may take, connecting included. A server that is well answers in a fraction of it. */
const INQUIRY_MS_MAX = 2_000;

const CLOSED = 'the client was closed before the answer came';

/** Gives the reply in the shape that the client gives it, or why there was none. */
export async function inquire(
  driver: NodeDriver,
  question: readonly string[],
  agenda: Agenda,
  signal: AbortSignal,
): Promise<unknown> {
  // A listener that is added to a signal after it has fired is never called.
  if (signal.aborted) return failureOf(new Error(CLOSED));
  let fail: (cause: unknown) => void = () => {};
  const failed = new Promise<CallFailure>((resolve) => {
    fail = (cause) => resolve(failureOf(cause));
  });
  const alarm = new Alarm(() => fail(new Error(`no answer within ${INQUIRY_MS_MAX} ms`)), true);
  const abort = (): void => fail(new Error(CLOSED));
  agenda.setIn(alarm, INQUIRY_MS_MAX);
  signal.addEventListener('abort', abort, { once: true });
  let wire: NodeWire | null = null;
  try {
    wire = driver.dial({ lost: fail, message: () => {} });
    const answer = wire.connect().then(() => wire?.command(question));
    return await Promise.race([answer.catch(failureOf), failed]);
  } catch (error) {
    return failureOf(error);
  } finally {
    agenda.cancel(alarm);
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
