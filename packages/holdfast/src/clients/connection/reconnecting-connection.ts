/**
 * A connection of our own that is made when it is needed and made again when it was lost, never by itself.
 *
 * ## idle
 * There is no connection, and no timer. `open` leads to connecting.
 *
 * ## connecting
 * The server has not let us in yet. It does (up), or it refuses, or `CONNECT_MS_MAX` passes (idle).
 *
 * ## up
 * Commands can be written. Any error of the connection, or silence on it, leads to idle: after an error nobody
 * knows which answer belongs to which command. Doubt leads to doubted.
 *
 * ## doubted
 * Up, and nothing has come back for a while: the other end may be gone without a word, or the server may be slow. Silence
 * alone does not tell which, so a second connection is made beside the first. The server lets us in there, and a moment
 * later (`GRACE_MS`) the first is still silent: the first is dead, and the second takes its place (up). The first has
 * spoken: the server was slow, and the second is dropped (up). A server that stands still lets nobody in: the first is
 * kept, with whatever is queued on it (doubted). The first is lost: the second is the only one (connecting, or up).
 *
 * `close` leads to idle from everywhere, without a word.
 */
import { AsyncResource } from 'node:async_hooks';
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import { CONNECT_MS_MAX, type Driver, type Wire } from './raw-connection.ts';
import { reasonOf } from './reply-errors.ts';
import { SECOND_LOOK_MS, SILENCE_MS_MAX, Silence } from './stall-watch.ts';

/**
 * How long after a second connection was tried another may be. Twice as long each time while none of them brings an
 * answer: a server whose writes are paused lets everybody in and answers nobody.
 */
const REPLACE_PAUSE_MS_MIN = 1_000;
const REPLACE_PAUSE_MS_MAX = 4_000;

/**
 * How long the first may still be silent once the server has let us in on the second. After a server or a network has
 * stood still, answers on the first and the handshake on the second come at about the same time, in any order.
 */
const GRACE_MS = 50;

export interface LinkEvents {
  up(wire: Wire, silence: Silence): void;
  /** The connection could not be made, or was lost. Its state is idle again; or up at once, when it was replaced. */
  down(reason: string, cause: unknown): void;
  message(channel: string, text: string): void;
  dropped?(channel: string): void;
}

export class Link {
  readonly #timers: TimerQueue;
  readonly #driver: Pick<Driver, 'dial'>;
  readonly #events: LinkEvents;
  /** Of whichever wire is being connected: there is one at most. */
  readonly #connectDeadline: Deadline;
  #wire: Wire | null = null;
  /** Being connected, or let in, beside one that is doubted. */
  #spare: Wire | null = null;
  #isSpareUp = false;
  readonly #graceDeadline = new Deadline(() => this.#judge(), false);
  #isSecondLook = false;
  #silence: Silence | null = null;
  #isHeld = true;
  #replaceFromMs = 0;
  #replacePauseMs = REPLACE_PAUSE_MS_MIN;

  constructor(driver: Pick<Driver, 'dial'>, timers: TimerQueue, events: LinkEvents) {
    this.#driver = driver;
    this.#timers = timers;
    this.#events = events;
    this.#connectDeadline = new Deadline(() => {
      const late = this.#spare ?? this.#wire;
      if (late !== null) this.#lost(late, new Error(`no connection within ${CONNECT_MS_MAX} ms`));
    }, false);
  }

  /** Connects unless it is connecting or up. */
  open(): void {
    if (this.#wire === null) this.#connect();
  }

  /** Whether the connection keeps the process alive. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#wire?.hold(isHeld);
    this.#spare?.hold(isHeld);
  }

  close(): void {
    this.#dropSpare();
    this.#timers.cancel(this.#connectDeadline);
    this.#drop();
  }

  /**
   * In the async context in which the link was made: a connection outlives the call that first needs it, and must
   * neither keep that call's context alive nor show it to listeners.
   */
  readonly #connect = AsyncResource.bind((): void => {
    let wire: Wire;
    try {
      wire = this.#dial();
    } catch (error) {
      this.#events.down(reasonOf(error), error);
      return;
    }
    this.#wire = wire;
    this.#begin(wire);
  });

  /** A second one beside one that is doubted. */
  readonly #connectSpare = AsyncResource.bind((): void => {
    let wire: Wire;
    try {
      wire = this.#dial();
    } catch {
      // There is none to be had now. The first is no worse for it, and is doubted again after the pause.
      return;
    }
    this.#spare = wire;
    this.#begin(wire);
  });

  #begin(wire: Wire): void {
    this.#timers.setIn(this.#connectDeadline, CONNECT_MS_MAX);
    wire.connect().then(
      () => this.#arrived(wire),
      (cause: unknown) => this.#lost(wire, cause),
    );
    wire.hold(this.#isHeld);
  }

  #dial(): Wire {
    // Events of a wire that has been given up mean nothing any more.
    const wire: Wire = this.#driver.dial({
      lost: (cause) => this.#lost(wire, cause),
      message: (channel, text) => {
        if (this.#wire === wire) this.#events.message(channel, text);
      },
      dropped: (channel) => {
        if (this.#wire === wire) this.#events.dropped?.(channel);
      },
    });
    return wire;
  }

  #arrived(wire: Wire): void {
    if (this.#wire === wire) this.#rise(wire);
    if (this.#spare !== wire) return;
    this.#timers.cancel(this.#connectDeadline);
    this.#isSpareUp = true;
    this.#isSecondLook = false;
    this.#timers.setIn(this.#graceDeadline, GRACE_MS);
  }

  #lost(wire: Wire, cause: unknown): void {
    if (this.#wire === wire) this.#fall(cause);
    else if (this.#spare === wire) this.#dropSpare();
  }

  #rise(wire: Wire): void {
    this.#timers.cancel(this.#connectDeadline);
    wire.hold(this.#isHeld);
    this.#silence = new Silence(this.#timers, {
      doubtful: () => this.#doubt(),
      silent: () => this.#fall(new Error(`no answer for ${SILENCE_MS_MAX} ms`)),
    });
    this.#events.up(wire, this.#silence);
  }

  /** One second connection at a time, with pauses. Returns when to ask again. */
  #doubt(): number {
    const nowMs = this.#timers.clock.monotonicMs();
    if (this.#spare !== null) return nowMs + REPLACE_PAUSE_MS_MIN;
    if (nowMs < this.#replaceFromMs) return this.#replaceFromMs;
    this.#replacePauseMs =
      this.#silence?.hasHeard === true
        ? REPLACE_PAUSE_MS_MIN
        : Math.min(2 * this.#replacePauseMs, REPLACE_PAUSE_MS_MAX);
    this.#replaceFromMs = nowMs + this.#replacePauseMs;
    this.#connectSpare();
    return this.#replaceFromMs;
  }

  /** The server has let us in on a second connection, so it is there, and works. Has the first one spoken meanwhile? */
  #judge(): void {
    const silence = this.#silence;
    if (silence?.isDoubted !== true) {
      this.#dropSpare();
    } else if (!this.#isSecondLook) {
      this.#isSecondLook = true;
      this.#timers.setIn(this.#graceDeadline, SECOND_LOOK_MS);
    } else {
      const forMs = Math.round(silence.lastsMs);
      this.#fall(new Error(`no answer for ${forMs} ms, while a new connection works`));
    }
  }

  #dropSpare(): void {
    const spare = this.#takeSpare();
    if (spare === null) return;
    this.#timers.cancel(this.#connectDeadline);
    spare.drop();
  }

  #takeSpare(): Wire | null {
    const spare = this.#spare;
    this.#spare = null;
    this.#isSpareUp = false;
    this.#timers.cancel(this.#graceDeadline);
    return spare;
  }

  #drop(): void {
    const wire = this.#wire;
    this.#wire = null;
    this.#silence?.stop();
    this.#silence = null;
    wire?.drop();
  }

  /** A second one takes its place: at once if the server has let us in there, or when it does. */
  #fall(cause: unknown): void {
    const isSpareUp = this.#isSpareUp;
    const spare = this.#takeSpare();
    if (spare === null) this.#timers.cancel(this.#connectDeadline);
    this.#drop();
    this.#wire = spare;
    this.#events.down(reasonOf(cause), cause);
    if (spare !== null && isSpareUp && this.#wire === spare) this.#rise(spare);
  }
}
