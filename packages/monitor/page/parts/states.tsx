/**
 * What a page shows instead of its content: while it loads, when nothing is there, when it was refused.
 *
 * In this folder: what several pages show. Only `app.tsx` and `pages/` import from here.
 */
import type { ComponentChildren, JSX } from 'preact';
import type { ApiError } from '../data/http.ts';
import { seconds } from '../data/words.ts';
import { Shape } from './marks.tsx';

/** Grey lines where text will be. */
export function Skeleton({ rows = 8 }: { readonly rows?: number }): JSX.Element {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        <span key={index} class={`ghost ghost-${index % 3}`} />
      ))}
    </div>
  );
}

export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Code and words of a failure, beside a form or in place of a page. */
export function ErrorWords({ error }: { readonly error: ApiError }): JSX.Element {
  return (
    <p class="callout" role="alert">
      <Shape name="triangle" /> {error.message} <code>{error.code}</code>
      {error.retryAfterMs !== null && ` Try again in ${seconds(error.retryAfterMs)}.`}
    </p>
  );
}

const TITLES: Readonly<Partial<Record<ApiError['code'], string>>> = {
  unreachable: 'The monitor does not answer',
  forbidden: 'You may not look at this',
  'bad-host': 'This address is not served',
  'redis-away': 'Redis does not answer the monitor',
  'not-found': 'There is no such thing',
};

export function Failure({
  error,
  onRetry,
}: {
  readonly error: ApiError;
  readonly onRetry: () => void;
}): JSX.Element {
  return (
    <div class="empty" role="alert">
      <h2>{TITLES[error.code] ?? 'That did not work'}</h2>
      <p>{error.message}</p>
      <p>
        <code>
          {error.code}
          {error.status === 0 ? '' : ` (HTTP ${error.status})`}
        </code>
      </p>
      <button type="button" class="primary" onClick={onRetry}>
        Try again
      </button>
    </div>
  );
}
