/**
 * Keeps the picture live. States of the link:
 *
 * - `loading`: nothing was ever shown. → `live`, `refused`
 * - `live`: the stream is open. → `lost`
 * - `lost`: the stream ended, or said nothing for too long; the last picture stays, and the page asks again after a pause
 *   that doubles. → `live` (caught up from the last id, or by a new picture), `refused`
 * - `refused`: the monitor answered, and not with a picture: login, forbidden, an error. → `loading`, when somebody retries
 */
import { type ReadonlySignal, signal } from '@preact/signals';
import type { State, StreamEventName, StreamEvents } from '../../src/api/types.ts';
import { measureSkew, monitorTime } from './clock.ts';
import { type ApiError, asApiError, get } from './http.ts';
import { applyAlerts, applyLocks, applyServers, notice, picture, replace } from './store.ts';

/** The monitor says something every second; a connection that is silent for longer is dead. */
const SILENCE_MAX_MS = 20_000;
const PAUSE_MS_MIN = 500;
const PAUSE_MS_MAX = 15_000;

export type Link =
  | { readonly state: 'loading' }
  | { readonly state: 'live' }
  | { readonly state: 'lost'; readonly since: number; readonly retryAt: number }
  | { readonly state: 'refused'; readonly error: ApiError };

const status = signal<Link>({ state: 'loading' });
export const link: ReadonlySignal<Link> = status;

let source: EventSource | null = null;
let lastId = '';
let pauseMs = PAUSE_MS_MIN;
let silence: ReturnType<typeof setTimeout> | undefined;
let retry: ReturnType<typeof setTimeout> | undefined;
/** Whether the stream that is open now has spoken. One that never did may be refused: only `state` says why. */
let hasSpoken = false;

/** Fetches the picture, then follows the stream from there. */
export async function connect(): Promise<void> {
  clearTimeout(retry);
  close();
  if (status.value.state === 'refused') status.value = { state: 'loading' };
  try {
    const { body, tookMs } = await get<State>('api/v1/state');
    measureSkew(body.at, tookMs);
    const isOther = picture.value !== null && picture.value.version !== body.version;
    replace(body);
    if (isOther) return location.reload();
    follow(body.id);
  } catch (thrown) {
    const error = asApiError(thrown);
    // A monitor that restarts behind a proxy, or is too busy: the last picture is better than none.
    const isPassing = error.code === 'unreachable' || error.status >= 500 || error.status === 429;
    if (isPassing && picture.value !== null) return lose(() => void connect());
    status.value = { state: 'refused', error };
  }
}

function close(): void {
  clearTimeout(silence);
  source?.close();
  source = null;
}

function lose(again: () => void): void {
  close();
  const since = status.value.state === 'lost' ? status.value.since : monitorTime();
  const waitMs = pauseMs * (0.75 + Math.random() / 2);
  pauseMs = Math.min(PAUSE_MS_MAX, pauseMs * 2);
  status.value = { state: 'lost', since, retryAt: monitorTime() + waitMs };
  clearTimeout(retry);
  retry = setTimeout(again, waitMs);
}

/** Asks again at once: somebody pressed the button, or the network is back. */
export function retryNow(): void {
  if (status.value.state === 'live') return;
  pauseMs = PAUSE_MS_MIN;
  void connect();
}

function follow(id: string): void {
  close();
  lastId = id;
  hasSpoken = false;
  const stream = new EventSource(`api/v1/stream?from=${encodeURIComponent(id)}`);
  source = stream;
  listen(stream, 'hello', ({ at, version }) => {
    measureSkew(at, 200);
    if (picture.value !== null && picture.value.version !== version) location.reload();
  });
  listen(stream, 'locks', applyLocks);
  listen(stream, 'servers', applyServers);
  listen(stream, 'alert', applyAlerts);
  listen(stream, 'notice', ({ text }) => {
    notice.value = text;
  });
  listen(stream, 'reset', () => void connect());
  stream.onerror = () => {
    if (source === stream) lose(() => (hasSpoken ? follow(lastId) : void connect()));
  };
  expectSpeech();
}

function listen<Name extends StreamEventName>(
  stream: EventSource,
  name: Name,
  take: (event: StreamEvents[Name]) => void,
): void {
  stream.addEventListener(name, (message: MessageEvent<string>) => {
    if (source !== stream) return;
    hasSpoken = true;
    pauseMs = PAUSE_MS_MIN;
    expectSpeech();
    if (status.value.state !== 'live') status.value = { state: 'live' };
    if (message.lastEventId !== '') lastId = message.lastEventId;
    take(JSON.parse(message.data) as StreamEvents[Name]);
  });
}

function expectSpeech(): void {
  clearTimeout(silence);
  silence = setTimeout(() => lose(() => follow(lastId)), SILENCE_MAX_MS);
}

export function watchNetwork(): void {
  addEventListener('online', retryNow);
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible' && status.value.state === 'lost') retryNow();
  });
}
