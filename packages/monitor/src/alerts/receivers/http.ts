/** Sends one HTTP request within the limit of a try. */
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Clock } from 'holdfast';
import type { Secret } from '../config/secret.ts';
import { type Attempt, describeError, parseRetryAfterMs } from '../delivery/attempt.ts';
import { within } from '../delivery/within.ts';
import { describeFailure } from './failure.ts';

/** For a whole try: connecting, sending, and the head of the answer. */
export const SEND_MS_MAX = 10_000;

/** How much is read of what a receiver says about a refusal. */
const ANSWER_BYTES_MAX = 1_024;

export interface HttpMessage {
  readonly url: string;
  readonly method: 'POST' | 'GET';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Certificates of the authorities to trust, in PEM form; null: those that Node knows. */
  readonly ca: string | null;
}

export async function sendHttp(
  message: HttpMessage,
  secrets: readonly Secret[],
  clock: Clock,
): Promise<Attempt> {
  try {
    return await within(clock, SEND_MS_MAX, (signal) => exchange(message, secrets, clock, signal));
  } catch (error) {
    return { is: 'failed', error: describeFailure(error, secrets), retryAfterMs: null };
  }
}

async function exchange(
  message: HttpMessage,
  secrets: readonly Secret[],
  clock: Clock,
  signal: AbortSignal,
): Promise<Attempt> {
  const response = await headOf(message, signal);
  const { statusCode: status = 0, headers } = response;
  if (status >= 200 && status < 300) {
    // The head says it all; a receiver that trickles its body must not hold us up.
    response.destroy();
    return { is: 'sent' };
  }
  const said = await firstOf(response).catch(() => '');
  const error = describeError(new Error(`HTTP ${status}${said === '' ? '' : `: ${said}`}`), secrets);
  const isForLater = status === 408 || status === 425 || status === 429 || status >= 500;
  if (!isForLater) return { is: 'refused', error };
  const retryAfterMs = parseRetryAfterMs(headers['retry-after'] ?? null, clock.wallMs());
  return { is: 'failed', error, retryAfterMs };
}

/**
 * The response, when its head has come. By `node:http`, because `fetch` cannot be told whom to trust. Redirects are not
 * followed: one could carry the message, and the secrets in its headers, to another host.
 */
function headOf(
  { url, method, headers, body, ca }: HttpMessage,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const request = new URL(url).protocol === 'https:' ? requestHttps : requestHttp;
  // A connection that is kept may be closed by the receiver just when the next message is sent.
  const options = {
    method,
    headers: { ...headers, Connection: 'close' },
    signal,
    ...(ca === null ? {} : { ca }),
  };
  return new Promise((resolve, reject) => {
    request(url, options, resolve).on('error', reject).end(body);
  });
}

async function firstOf(response: IncomingMessage): Promise<string> {
  response.setEncoding('utf8');
  let text = '';
  for await (const chunk of response) {
    text += String(chunk);
    // Leaving the loop closes the connection.
    if (text.length >= ANSWER_BYTES_MAX) break;
  }
  return text.slice(0, ANSWER_BYTES_MAX);
}
