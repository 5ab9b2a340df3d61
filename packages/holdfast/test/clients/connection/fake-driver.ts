/** A client whose every answer a test gives by hand. */
import type { ScriptCall } from '../../../src/clients/client.ts';
import type {
  ChannelMode,
  Driver,
  RawConnection,
  RawConnectionEvents,
} from '../../../src/clients/connection/raw-connection.ts';

/** Something asked of the client that has not been answered yet. */
export interface Asked {
  readonly verb:
    | 'connect'
    | 'evalsha'
    | 'eval'
    | 'command'
    | 'subscribe'
    | 'unsubscribe'
    | 'ssubscribe'
    | 'sunsubscribe';
  readonly what: string;
  answer(value?: unknown): void;
  refuse(message: string): void;
}

export class FakeRawConnection implements RawConnection {
  readonly asked: Asked[] = [];
  readonly events: RawConnectionEvents;
  readonly #signal: AbortSignal;

  constructor(events: RawConnectionEvents, signal: AbortSignal) {
    this.events = events;
    this.#signal = signal;
  }

  get isClosed(): boolean {
    return this.#signal.aborted;
  }

  async connect(): Promise<RawConnection> {
    await this.#ask('connect', '');
    return this;
  }

  send({ script, args, isAsking }: ScriptCall, isByText: boolean): Promise<unknown> {
    const words = [...(isAsking === true ? ['asking'] : []), script.name, ...args];
    return this.#ask(isByText ? 'eval' : 'evalsha', words.join(' '));
  }

  command(args: readonly string[]): Promise<unknown> {
    return this.#ask('command', args.join(' '));
  }

  subscribe(channel: string, mode: ChannelMode): Promise<unknown> {
    return this.#ask(mode === 'sharded' ? 'ssubscribe' : 'subscribe', channel);
  }

  unsubscribe(channel: string, mode: ChannelMode): Promise<unknown> {
    return this.#ask(mode === 'sharded' ? 'sunsubscribe' : 'unsubscribe', channel);
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
  readonly dialled: FakeRawConnection[] = [];

  dial(events: RawConnectionEvents, signal: AbortSignal): Promise<RawConnection> {
    const raw = new FakeRawConnection(events, signal);
    this.dialled.push(raw);
    return raw.connect();
  }

  /** The connection dialled last. */
  get raw(): FakeRawConnection {
    const raw = this.dialled.at(-1);
    if (raw === undefined) throw new Error('nothing was dialled');
    return raw;
  }
}
