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
 * knows which answer belongs to which command.
 *
 * `close` leads to idle from everywhere, without a word.
 */
import { AsyncResource } from 'node:async_hooks';
import { type Agenda, Alarm } from '../core/agenda.ts';
import { reasonOf } from './reason.ts';
import { SILENCE_MS_MAX, Silence } from './silence.ts';
import { CONNECT_MS_MAX, type Driver, type Wire } from './wire.ts';

export interface LinkEvents {
  up(wire: Wire, silence: Silence): void;
  /** The connection could not be made, or was lost. Its state is idle again. */
  down(reason: string, cause: unknown): void;
  message(channel: string, text: string): void;
  dropped?(channel: string): void;
}

export class Link {
  readonly #agenda: Agenda;
  readonly #driver: Pick<Driver, 'dial'>;
  readonly #events: LinkEvents;
  readonly #connectAlarm: Alarm;
  #wire: Wire | null = null;
  #silence: Silence | null = null;
  #isHeld = true;

  constructor(driver: Pick<Driver, 'dial'>, agenda: Agenda, events: LinkEvents) {
    this.#driver = driver;
    this.#agenda = agenda;
    this.#events = events;
    this.#connectAlarm = new Alarm(
      () => this.#fall(new Error(`no connection within ${CONNECT_MS_MAX} ms`)),
      false,
    );
  }

  /** Connects unless it is connecting or up. */
  open(): void {
    if (this.#wire === null) this.#connect();
  }

  /** Whether the connection keeps the process alive. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#wire?.hold(isHeld);
  }

  close(): void {
    const wire = this.#wire;
    this.#wire = null;
    this.#silence?.stop();
    this.#silence = null;
    this.#agenda.cancel(this.#connectAlarm);
    wire?.drop();
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
    this.#agenda.setIn(this.#connectAlarm, CONNECT_MS_MAX);
    wire.connect().then(
      () => {
        if (this.#wire === wire) this.#rise(wire);
      },
      (cause: unknown) => {
        if (this.#wire === wire) this.#fall(cause);
      },
    );
    wire.hold(this.#isHeld);
  });

  #dial(): Wire {
    // Events of a wire that has been given up mean nothing any more.
    const wire: Wire = this.#driver.dial({
      lost: (cause) => {
        if (this.#wire === wire) this.#fall(cause);
      },
      message: (channel, text) => {
        if (this.#wire === wire) this.#events.message(channel, text);
      },
      dropped: (channel) => {
        if (this.#wire === wire) this.#events.dropped?.(channel);
      },
    });
    return wire;
  }

  #rise(wire: Wire): void {
    this.#agenda.cancel(this.#connectAlarm);
    wire.hold(this.#isHeld);
    this.#silence = new Silence(this.#agenda, () =>
      this.#fall(new Error(`no answer for ${SILENCE_MS_MAX} ms`)),
    );
    this.#events.up(wire, this.#silence);
  }

  #fall(cause: unknown): void {
    this.close();
    this.#events.down(reasonOf(cause), cause);
  }
}
