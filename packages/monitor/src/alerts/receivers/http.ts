/** Sends one HTTP request within the limit of a try. */
import type { Clock } from 'holdfast';
import type { Secret } from '../config/secret.ts';
import { type Attempt, describeError, parseRetryAfterMs } from '../delivery/attempt.ts';
import { within } from '../delivery/within.ts';

/** For a whole try: connecting, sending, and the head of the answer. */
export const SEND_MS_MAX = 10_000;

/** How much is read of what a receiver says about a refusal. */
const ANSWER_BYTES_MAX = 1_024;

export interface HttpMessage {
  readonly url: string;
  readonly method: 'POST' | 'GET';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export async function sendHttp(
  message: HttpMessage,
  secrets: readonly Secret[],
  clock: Clock,
): Promise<Attempt> {
  try {
    return await within(clock, SEND_MS_MAX, (signal) => exchange(message, secrets, clock, signal));
  } catch (error) {
    return { is: 'failed', error: describeError(error, secrets), retryAfterMs: null };
  }
}

async function exchange(
  { url, method, headers, body }: HttpMessage,
  secrets: readonly Secret[],
  clock: Clock,
  signal: AbortSignal,
): Promise<Attempt> {
  // A redirect could carry the message, and the secrets in its headers, to another host.
  const init: RequestInit = { method, headers: { ...headers }, redirect: 'manual', signal };
  const response = await fetch(url, body === undefined ? init : { ...init, body });
  if (response.ok) {
    // The head says it all; a receiver that trickles its body must not hold us up.
    response.body?.cancel().catch(() => {});
    return { is: 'sent' };
  }
  const { status } = response;
  const said = await firstOf(response).catch(() => '');
  const error = describeError(new Error(`HTTP ${status}${said === '' ? '' : `: ${said}`}`), secrets);
  const isForLater = status === 408 || status === 425 || status === 429 || status >= 500;
  if (!isForLater) return { is: 'refused', error };
  const retryAfterMs = parseRetryAfterMs(response.headers.get('retry-after'), clock.wallMs());
  return { is: 'failed', error, retryAfterMs };
}

async function firstOf(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return '';
  const decoder = new TextDecoder();
  let text = '';
  while (text.length < ANSWER_BYTES_MAX) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
  }
  reader.cancel().catch(() => {});
  return text.slice(0, ANSWER_BYTES_MAX);
}
