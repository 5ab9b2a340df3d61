/** Subscriptions to the channels of holdfast that end together, and whose handlers cannot hurt the program. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { CHANNELS } from 'holdfast';
import type { Report } from './report.ts';

type Listener = (message: unknown, name: string | symbol) => void;

/** The moments of a tracing channel that matter here. */
type Moment = 'start' | 'asyncEnd';

export class Subscriptions {
  readonly #report: Report;
  readonly #active: { readonly name: string; readonly listener: Listener }[] = [];

  constructor(report: Report) {
    this.#report = report;
  }

  /** Hears a channel. */
  on<Message>(channel: keyof typeof CHANNELS, handle: (message: Message) => void): void {
    this.#subscribe(CHANNELS[channel], handle);
  }

  /** Hears one moment of a tracing channel. */
  trace<Context>(channel: keyof typeof CHANNELS, moment: Moment, handle: (context: Context) => void): void {
    this.#subscribe(`tracing:${CHANNELS[channel]}:${moment}`, handle);
  }

  stop(): void {
    for (const { name, listener } of this.#active.splice(0)) unsubscribe(name, listener);
  }

  #subscribe<Message>(name: string, handle: (message: Message) => void): void {
    // An exporter or a processor of spans may throw. Node would make that an uncaught exception of the process.
    const listener = (message: unknown): void => {
      try {
        handle(message as Message);
      } catch (error) {
        this.#report(name, `an error while handling ${name} was ignored: ${String(error)}`);
      }
    };
    subscribe(name, listener);
    this.#active.push({ name, listener });
  }
}
