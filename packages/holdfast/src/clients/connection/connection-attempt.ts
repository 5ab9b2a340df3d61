/**
 * One attempt at a connection, and the connection that it leads to: one object with one end. It is told at most once
 * that the connection is up, and at most once that it failed or was lost; after that, or after `close`, nothing more.
 */
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import { CONNECT_MS_MAX, type Dialler, type RawConnection } from './raw-connection.ts';

export interface AttemptEvents {
  up(raw: RawConnection): void;
  /** The attempt failed, or the connection was lost. Its socket is freed by now. */
  lost(cause: unknown): void;
  message(channel: string, text: string): void;
  dropped(channel: string): void;
}

export class ConnectionAttempt {
  readonly #timers: TimerQueue;
  readonly #events: AttemptEvents;
  readonly #lifetime = new AbortController();
  readonly #deadline: Deadline;
  #raw: RawConnection | null = null;

  constructor(timers: TimerQueue, events: AttemptEvents) {
    this.#timers = timers;
    this.#events = events;
    const late = (): void => this.#lose(new Error(`no connection within ${CONNECT_MS_MAX} ms`));
    this.#deadline = new Deadline(late, false);
  }

  /** Null until the server has let us in. */
  get raw(): RawConnection | null {
    return this.#raw;
  }

  start(dialler: Dialler): void {
    const { signal } = this.#lifetime;
    const { message, dropped } = this.#events;
    this.#timers.setIn(this.#deadline, CONNECT_MS_MAX);
    // A client that is told to end may still have something to say.
    const events = {
      lost: (cause: unknown) => this.#lose(cause),
      message: (channel: string, text: string) => {
        if (!signal.aborted) message(channel, text);
      },
      dropped: (channel: string) => {
        if (!signal.aborted) dropped(channel);
      },
    };
    // A dial that throws counts as one that rejects.
    const dialling = new Promise<RawConnection>((resolve) => resolve(dialler.dial(events, signal)));
    dialling.then(
      (raw) => this.#rise(raw),
      (cause: unknown) => this.#lose(cause),
    );
  }

  close(): void {
    this.#timers.cancel(this.#deadline);
    this.#lifetime.abort();
  }

  #rise(raw: RawConnection): void {
    if (this.#lifetime.signal.aborted) return;
    this.#timers.cancel(this.#deadline);
    this.#raw = raw;
    this.#events.up(raw);
  }

  #lose(cause: unknown): void {
    if (this.#lifetime.signal.aborted) return;
    this.close();
    this.#events.lost(cause);
  }
}
