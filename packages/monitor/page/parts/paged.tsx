/** What grows and is shown in pages, such as the audit trail: the newest page at once and after each change, older ones on demand. */
import { type ReadonlySignal, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { type ApiError, asApiError, getInTurn } from '../data/http.ts';
import { Failure } from './states.tsx';

export interface Paged {
  readonly error: ReadonlySignal<ApiError | null>;
  readonly isPutOff: ReadonlySignal<boolean>;
  /** Where the next older page begins. */
  readonly next: ReadonlySignal<string | null>;
  /** Null: the newest page, anew. */
  load(before: string | null): Promise<void>;
}

/** `changed`: the newest page is asked for again whenever this has another value. `show` is given each page. */
export function usePaged<Body extends { readonly next: string | null }>(
  path: string,
  changed: unknown,
  show: (page: Body, isOlder: boolean) => void,
): Paged {
  const next = useSignal<string | null>(null);
  const error = useSignal<ApiError | null>(null);
  const isPutOff = useSignal(false);
  const latest = useRef(new AbortController());
  const putOff = (): void => {
    isPutOff.value = true;
  };

  async function load(before: string | null): Promise<void> {
    if (before === null) {
      // What was asked for before is not wanted any more: older pages would follow on what is replaced.
      latest.current.abort();
      latest.current = new AbortController();
    }
    const { signal } = latest.current;
    try {
      const query = before === null ? '' : `?before=${encodeURIComponent(before)}`;
      const { body } = await getInTurn<Body>(`${path}${query}`, putOff, signal);
      show(body, before !== null);
      next.value = body.next;
      error.value = null;
    } catch (thrown) {
      if (signal.aborted) return;
      error.value = asApiError(thrown);
    }
    isPutOff.value = false;
  }

  useEffect(() => {
    void load(null);
    return () => latest.current.abort();
  }, [changed]);
  return { error, isPutOff, next, load };
}

/** Why there is no newer page, if so. */
export function PagedState({ of }: { readonly of: Paged }): JSX.Element | null {
  if (of.error.value !== null) return <Failure error={of.error.value} onRetry={() => void of.load(null)} />;
  return of.isPutOff.value ? (
    <p class="quiet" role="status">
      Many pages are open, and the monitor reads Redis for one after the other. This page follows in a moment.
    </p>
  ) : null;
}

export function Older({ of }: { readonly of: Paged }): JSX.Element | null {
  const before = of.next.value;
  if (before === null) return null;
  return (
    <button type="button" onClick={() => void of.load(before)}>
      Older
    </button>
  );
}
