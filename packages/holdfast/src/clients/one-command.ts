/** One question to one server, over a connection of its own that ends with the answer. */
import type { TimerQueue } from '../runtime/timer-queue.ts';
import { CallFailure } from './client.ts';
import { Connection } from './connection/connection.ts';
import type { Dialler } from './connection/raw-connection.ts';

/** How long the answer may take, connecting included. A healthy server answers in a fraction of it. */
const ANSWER_MS_MAX = 2_000;

/**
 * Sends one command that changes nothing, such as `CLUSTER SLOTS`. Gives the reply in the shape that the client gives,
 * or why there was none: the server's error reply, or else `unreachable`, because a question that was not answered has
 * no effect that could be unknown.
 */
export async function oneCommand(
  dialler: Dialler,
  command: readonly string[],
  timers: TimerQueue,
  signal: AbortSignal,
): Promise<unknown> {
  const connection = new Connection(dialler, timers);
  const close = (): void => connection.close();
  signal.addEventListener('abort', close, { once: true });
  // A listener that is added to a signal after it has fired is never called.
  if (signal.aborted) close();
  try {
    const reply = await connection.command(command, { timeoutMs: ANSWER_MS_MAX });
    if (!(reply instanceof CallFailure) || reply.kind === 'reply') return reply;
    return new CallFailure('unreachable', reply.text, '', reply.cause);
  } finally {
    signal.removeEventListener('abort', close);
    close();
  }
}
