/** A client whose every answer a test gives by hand. */
import type { ScriptCall } from '../../src/clients/client.ts';
import type { Driver, Wire, WireEvents } from '../../src/clients/connection/raw-connection.ts';

/** Something asked of the client that has not been answered yet. */
export interface Asked {
  readonly verb: 'connect' | 'evalsha' | 'eval' | 'command' | 'subscribe' | 'unsubscribe';
  readonly what: string;
  answer(value?: unknown): void;
  refuse(message: string): void;
}

export class FakeWire implements Wire {
  readonly asked: Asked[] = [];
  readonly events: WireEvents;
  isHeld = true;
  isDropped = false;

  constructor(events: WireEvents) {
    this.events = events;
  }

  connect(): Promise<void> {
    return this.#ask('connect', '') as Promise<void>;
  }

  send({ script, args }: ScriptCall, isByText: boolean): Promise<unknown> {
    return this.#ask(isByText ? 'eval' : 'evalsha', [script.name, ...args].join(' '));
  }

  command(args: readonly string[]): Promise<unknown> {
    return this.#ask('command', args.join(' '));
  }

  subscribe(channel: string): Promise<unknown> {
    return this.#ask('subscribe', channel);
  }

  unsubscribe(channel: string): Promise<unknown> {
    return this.#ask('unsubscribe', channel);
  }

  hold(isHeld: boolean): void {
    this.isHeld = isHeld;
  }

  drop(): void {
    this.isDropped = true;
  }

  /** The oldest unanswered question, which must be this one. */
  next(verb: Asked['verb'], what = ''): Asked {
    const asked = this.asked.shift();
    if (asked?.verb === verb && asked.what === what) return asked;
    throw new Error(
      `expected to be asked ${verb} ${what}, got ${asked?.verb ?? 'nothing'} ${asked?.what ?? ''}`,
    );
  }

  #ask(verb: Asked['verb'], what: string): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.asked.push({ verb, what, answer: resolve, refuse: (message) => reject(new Error(message)) });
    });
  }
}

export class FakeDriver implements Driver {
  readonly description = 'a fake';
  readonly keyPrefix = '';
  readonly wires: FakeWire[] = [];

  dial(events: WireEvents): FakeWire {
    const wire = new FakeWire(events);
    this.wires.push(wire);
    return wire;
  }

  /** The connection made last. */
  get wire(): FakeWire {
    const wire = this.wires.at(-1);
    if (wire === undefined) throw new Error('nothing was dialled');
    return wire;
  }
}
