/** Questions to the monitor. Every answer that is not what was asked for is an `ApiError` with the monitor's own words. */
import type { ErrorBody, ErrorCode, Row } from '../../src/api/types.ts';

/** A monitor that does not answer for so long is as good as away. */
const LIMIT_MS = 20_000;

export type FailureCode = ErrorCode | 'unreachable' | 'strange-answer';

export class ApiError extends Error {
  readonly code: FailureCode;
  readonly status: number;
  /** With `changed`: the lock as it is now. */
  readonly now: Row | null;
  /** With `slow-down`: when to try again. */
  readonly retryAfterMs: number | null;

  constructor(
    code: FailureCode,
    message: string,
    status = 0,
    now: Row | null = null,
    retryAfterMs: number | null = null,
  ) {
    super(message);
    this.code = code;
    this.status = status;
    this.now = now;
    this.retryAfterMs = retryAfterMs;
  }
}

export interface Answer<T> {
  readonly body: T;
  readonly tookMs: number;
}

async function ask<T>(path: string, init: RequestInit): Promise<Answer<T>> {
  const beganAt = performance.now();
  let response: Response;
  try {
    response = await fetch(path, {
      ...init,
      credentials: 'same-origin',
      signal: AbortSignal.timeout(LIMIT_MS),
    });
  } catch (error) {
    throw new ApiError(
      'unreachable',
      `The monitor does not answer (${error instanceof Error ? error.message : 'no reason'}).`,
    );
  }
  const tookMs = performance.now() - beganAt;
  const text = await response.text().catch(() => '');
  const body = parse(text);
  if (response.ok && body !== undefined) return { body: body as T, tookMs };
  throw failure(response, body as Partial<ErrorBody> | undefined);
}

function parse(text: string): unknown {
  try {
    return text === '' ? {} : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function failure(response: Response, body: Partial<ErrorBody> | undefined): ApiError {
  const { status } = response;
  const after = Number(response.headers.get('retry-after') ?? Number.NaN);
  const retryAfterMs = Number.isFinite(after) ? after * 1_000 : null;
  if (body?.error === undefined) {
    const words = `Something answered ${status} that is not the monitor. Is a proxy between?`;
    return new ApiError('strange-answer', words, status, null, retryAfterMs);
  }
  return new ApiError(body.error.code, body.error.message, status, body.now ?? null, retryAfterMs);
}

export function get<T>(path: string): Promise<Answer<T>> {
  return ask<T>(path, {});
}

/** Where the monitor does not say when to come again. */
const RETRY_MS = 1_000;

/**
 * `get`, asked again and again while so many pages are open that the monitor puts this one off. `putOff` is told each time. Rejects
 * when the signal aborts: the page is closed, or wants something newer.
 */
export async function getInTurn<T>(
  path: string,
  putOff: (error: ApiError) => void,
  signal: AbortSignal,
): Promise<Answer<T>> {
  for (;;) {
    try {
      const answer = await get<T>(path);
      signal.throwIfAborted();
      return answer;
    } catch (thrown) {
      signal.throwIfAborted();
      const error = asApiError(thrown);
      if (error.code !== 'too-many-reads') throw error;
      putOff(error);
      await new Promise((resolve) => setTimeout(resolve, error.retryAfterMs ?? RETRY_MS));
      signal.throwIfAborted();
    }
  }
}

export function post<T>(path: string, body: unknown, csrf: string): Promise<Answer<T>> {
  const headers = { 'content-type': 'application/json', 'x-holdfast-csrf': csrf };
  return ask<T>(path, { method: 'POST', headers, body: JSON.stringify(body) });
}

/** What went wrong, for the page: an `ApiError` as it is, anything else as a fault of the page. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError('internal', error instanceof Error ? error.message : String(error));
}
