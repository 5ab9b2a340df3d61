/** How one try to send a message ended, and what follows from it. */
import { type Secret, withoutSecrets } from '../config/secret.ts';

export type Attempt =
  | { readonly is: 'sent' }
  /** The receiver said that this message is wrong: another try is unlikely to help. */
  | { readonly is: 'refused'; readonly error: string }
  /** The message was not delivered; a later try may succeed. */
  | { readonly is: 'failed'; readonly error: string; readonly retryAfterMs: number | null };

const BACKOFF_MS_MIN = 1_000;
const BACKOFF_MS_MAX = 300_000;

/** A receiver that asks for more is asked again after an hour all the same: alerts do not wait for a day. */
const RETRY_AFTER_MS_MAX = 3_600_000;

/** A message that is older than this is given up: nobody has read it for a day, and it is no news. */
export const AGE_MS_MAX: number = 24 * 3_600_000;

/** A receiver that refuses a message three times will not take it. */
const REFUSALS_MAX = 3;

/** Longer texts of a receiver say nothing more. */
const ERROR_LENGTH_MAX = 200;

export type Verdict =
  | { readonly is: 'sent' }
  | { readonly is: 'retry'; readonly afterMs: number; readonly error: string }
  | { readonly is: 'dead'; readonly error: string };

/** `chance` is of 0 to 1: the delay varies by half of itself, so that receivers are not all tried at one moment. */
export function judgeAttempt(attempt: Attempt, tries: number, ageMs: number, chance: number): Verdict {
  if (attempt.is === 'sent') return attempt;
  const { error } = attempt;
  if (ageMs >= AGE_MS_MAX) return { is: 'dead', error: `given up after a day: ${error}` };
  if (attempt.is === 'refused' && tries >= REFUSALS_MAX) return { is: 'dead', error };
  const base = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** Math.min(tries - 1, 20));
  const backoffMs = base * (0.75 + chance / 2);
  const asked = attempt.is === 'failed' ? (attempt.retryAfterMs ?? 0) : 0;
  return { is: 'retry', afterMs: Math.max(backoffMs, Math.min(asked, RETRY_AFTER_MS_MAX)), error };
}

/** An error as one short line without secrets. */
export function describeError(error: unknown, secrets: readonly Secret[]): string {
  const message = error instanceof Error ? messageOf(error) : String(error);
  const line = withoutSecrets(message, secrets)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim();
  return line.length > ERROR_LENGTH_MAX ? `${line.slice(0, ERROR_LENGTH_MAX)}…` : line;
}

/** A host with several addresses fails with an error for each, and with no message of its own. */
function messageOf(error: Error): string {
  if (error instanceof AggregateError) return String(error.errors[0]?.message ?? error.message);
  return error.cause instanceof Error ? messageOf(error.cause) : error.message;
}

/** Seconds or a date, as HTTP has it. */
export function parseRetryAfterMs(header: string | null, nowMs: number): number | null {
  if (header === null) return null;
  if (/^\d+$/.test(header.trim())) return Number(header) * 1_000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}
