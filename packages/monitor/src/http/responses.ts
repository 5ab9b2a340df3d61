/** The answers of the monitor: JSON, errors, and the headers that every one of them has. */
import type { ErrorBody, ErrorCode, Row } from '../api/types.ts';

const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** On every answer. */
export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': CSP,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

export function json(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...SAFE_HEADERS, 'content-type': 'application/json; charset=utf-8', ...headers },
  });
}

export function text(status: number, body: string, type = 'text/plain; charset=utf-8'): Response {
  return new Response(body, { status, headers: { ...SAFE_HEADERS, 'content-type': type } });
}

const STATUS: Readonly<Record<ErrorCode, number>> = {
  'bad-request': 400,
  'login-needed': 401,
  'wrong-login': 401,
  'slow-down': 429,
  forbidden: 403,
  'actions-off': 403,
  'bad-origin': 403,
  'bad-host': 403,
  'not-found': 404,
  'not-held': 404,
  changed: 409,
  'too-large': 413,
  'too-many-streams': 503,
  'too-many-reads': 429,
  'audit-failed': 503,
  'redis-away': 503,
  internal: 500,
};

/** What ends a request early. */
export class HttpError extends Error {
  readonly code: ErrorCode;
  readonly now: Row | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ErrorCode,
    message: string,
    more: { now?: Row | undefined; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message);
    this.code = code;
    this.now = more.now;
    this.headers = more.headers ?? {};
  }
}

export function errorResponse(error: HttpError): Response {
  const body: ErrorBody = {
    error: { code: error.code, message: error.message },
    ...(error.now === undefined ? {} : { now: error.now }),
  };
  return json(STATUS[error.code], body, error.headers);
}
