/** Asks for something again and again while its page is open: what the stream of changes does not carry. */
import { type ApiError, asApiError, get } from './http.ts';
import { pausedAt } from './store.ts';
import { link } from './stream.ts';

export interface Polled<Body> {
  readonly path: string;
  readonly everyMs: number;
  /** Set to the newest answer. */
  readonly body: { value: Body | null };
  /** Set to the last failure, and to null by an answer. */
  readonly error: { value: ApiError | null };
}

/** After the first answer, nothing is asked while the page is paused, hidden or disconnected. Returns how to end it. */
export function poll<Body>({ path, everyMs, body, error }: Polled<Body>): () => void {
  let isOver = false;
  let timer: ReturnType<typeof setTimeout>;
  const ask = async (): Promise<void> => {
    const mayAsk =
      link.value.state === 'live' && pausedAt.value === null && document.visibilityState === 'visible';
    if (mayAsk || body.value === null) {
      try {
        const answer = await get<Body>(path);
        if (isOver) return;
        body.value = answer.body;
        error.value = null;
      } catch (thrown) {
        if (isOver) return;
        error.value = asApiError(thrown);
      }
    }
    timer = setTimeout(() => void ask(), everyMs);
  };
  void ask();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
