/**
 * A connection of our own that its user opens, and opens again when it was lost: `Connection` for the next call,
 * `Subscriptions` after a pause. It never reconnects by itself.
 *
 * ## idle
 * There is no connection, and no timer. `open` leads to connecting.
 *
 * ## connecting
 * The server has not let us in yet. It does (up), or it refuses, or `CONNECT_MS_MAX` passes (idle).
 *
 * ## up
 * Commands can be written. Any error of the connection, or a stall of `STALL_MS_MAX`, leads to idle: after an error
 * nobody knows which reply belongs to which command. A shorter stall leads to suspected.
 *
 * ## suspected
 * Up, and nothing has come back for a while: the other end may be gone without a word (a half-open connection), or the
 * server may be slow. Silence alone does not tell which, so a spare connection is made beside the current one:
 * - The server lets us in on the spare, and `GRACE_MS` later the current one is still silent: that one is dead, and the
 *   spare takes its place (up).
 * - The current one has answered: the server was slow, and the spare is closed (up).
 * - A server that is paused lets nobody in: the current one is kept, with whatever is queued on it (suspected).
 * - The current one is lost: the spare takes its place (connecting, or up).
 *
 * `close` leads to idle from everywhere, without an event.
 */
import { AsyncResource } from 'node:async_hooks';
import { Backoff } from '../../runtime/backoff.ts';
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import { ConnectionAttempt } from './connection-attempt.ts';
import type { Dialler, RawConnection } from './raw-connection.ts';
import { reasonOf } from './reply-errors.ts';
import { SECOND_LOOK_MS, STALL_MS_MAX, StallWatch } from './stall-watch.ts';

/**
 * The pause between two spare connections. Doubled while no connection brings an answer: a server whose writes are
 * paused (`CLIENT PAUSE`) lets everybody in and answers nobody.
 */
const SPARE_PAUSE_MS_MIN = 1_000;
const SPARE_PAUSE_MS_MAX = 4_000;

/**
 * How long the current connection may still be silent once the server has let us in on the spare. After a server or a
 * network has stood still, answers on the one and the handshake on the other come at about the same time, in any order.
 */
const GRACE_MS = 50;

/** The connection as it is while it is up, and the watch over its answers. */
export interface OpenConnection {
  readonly raw: RawConnection;
  readonly stallWatch: StallWatch;
}

export interface ReconnectingEvents {
  up(open: OpenConnection): void;
  /** The connection could not be made, or was lost. Next it is idle, or, with a spare, connecting or up. */
  down(reason: string, cause: unknown): void;
  message?(channel: string, text: string): void;
  dropped?(channel: string): void;
}

export class ReconnectingConnection {
  readonly #dialler: Dialler;
  readonly #timers: TimerQueue;
  readonly #events: ReconnectingEvents;
  #current: ConnectionAttempt | null = null;
  /** Made beside a current connection that is suspected. */
  #spare: ConnectionAttempt | null = null;
  #stallWatch: StallWatch | null = null;
  readonly #graceDeadline = new Deadline(() => this.#judge(), false);
  #isSecondLook = false;
  readonly #sparePause = new Backoff(null, { minMs: SPARE_PAUSE_MS_MIN, maxMs: SPARE_PAUSE_MS_MAX });
  #nextSpareMs = 0;

  constructor(dialler: Dialler, timers: TimerQueue, events: ReconnectingEvents) {
    this.#dialler = dialler;
    this.#timers = timers;
    this.#events = events;
  }

  /** Connecting or up. */
  get isActive(): boolean {
    return this.#current !== null;
  }

  /** Connects unless it is connecting or up. */
  open(): void {
    if (this.#current !== null) return;
    this.#current = this.#newAttempt();
    this.#start(this.#current);
  }

  close(): void {
    this.#takeSpare()?.close();
    this.#closeCurrent();
  }

  #newAttempt(): ConnectionAttempt {
    const attempt: ConnectionAttempt = new ConnectionAttempt(this.#timers, {
      up: (raw) => this.#attemptUp(attempt, raw),
      lost: (cause) => this.#attemptLost(attempt, cause),
      message: (channel, text) => this.#events.message?.(channel, text),
      dropped: (channel) => this.#events.dropped?.(channel),
    });
    return attempt;
  }

  /**
   * In the async context in which this object was made: a connection outlives the call that first needs it, and must
   * neither keep that call's context alive nor show it to listeners.
   */
  readonly #start = AsyncResource.bind((attempt: ConnectionAttempt): void => attempt.start(this.#dialler));

  #attemptUp(attempt: ConnectionAttempt, raw: RawConnection): void {
    if (attempt === this.#current) {
      this.#rise(raw);
    } else if (attempt === this.#spare) {
      this.#isSecondLook = false;
      this.#timers.setIn(this.#graceDeadline, GRACE_MS);
    }
  }

  #attemptLost(attempt: ConnectionAttempt, cause: unknown): void {
    if (attempt === this.#current) this.#fall(cause);
    else if (attempt === this.#spare) this.#takeSpare();
  }

  /** The current connection is up. */
  #rise(raw: RawConnection): void {
    const stallWatch = new StallWatch(this.#timers, {
      suspected: () => this.#suspect(),
      stalled: () => this.#fall(new Error(`no answer for ${STALL_MS_MAX} ms`)),
    });
    this.#stallWatch = stallWatch;
    this.#events.up({ raw, stallWatch });
  }

  /** Makes a spare connection, unless there is one or the pause since the last is not over. Returns when to ask again. */
  #suspect(): number {
    const nowMs = this.#timers.clock.monotonicMs();
    if (this.#spare !== null) return nowMs + SPARE_PAUSE_MS_MIN;
    if (nowMs < this.#nextSpareMs) return this.#nextSpareMs;
    if (this.#stallWatch?.hasHeard === true) this.#sparePause.reset();
    this.#nextSpareMs = nowMs + this.#sparePause.nextMs();
    this.#spare = this.#newAttempt();
    this.#start(this.#spare);
    return this.#nextSpareMs;
  }

  /** The server has let us in on the spare, so the server works. Has the current connection answered meanwhile? */
  #judge(): void {
    const stallWatch = this.#stallWatch;
    if (stallWatch?.isSuspected !== true) {
      this.#takeSpare()?.close();
    } else if (!this.#isSecondLook) {
      this.#isSecondLook = true;
      this.#timers.setIn(this.#graceDeadline, SECOND_LOOK_MS);
    } else {
      const forMs = Math.round(stallWatch.silentMs);
      this.#fall(new Error(`no answer for ${forMs} ms, while a new connection works`));
    }
  }

  #takeSpare(): ConnectionAttempt | null {
    const spare = this.#spare;
    this.#spare = null;
    this.#timers.cancel(this.#graceDeadline);
    return spare;
  }

  #closeCurrent(): void {
    const current = this.#current;
    this.#current = null;
    this.#stallWatch?.stop();
    this.#stallWatch = null;
    current?.close();
  }

  /** The current connection is lost. A spare takes its place, now or when the server has let us in on it. */
  #fall(cause: unknown): void {
    const spare = this.#takeSpare();
    this.#closeCurrent();
    this.#current = spare;
    this.#events.down(reasonOf(cause), cause);
    const raw = spare?.raw ?? null;
    // The listener may have closed us.
    if (raw !== null && this.#current === spare) this.#rise(raw);
  }
}
