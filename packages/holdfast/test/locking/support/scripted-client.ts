/**
 * A client whose every call goes as the test says: answered now or later, lost, refused, or running on the server
 * long after its caller gave up. It is a test double for unit tests of the code above the client seam, and proves
 * nothing about Redis, about its clients or about our adapters of them.
 */
import {
  CallFailure,
  CLIENT,
  type Client,
  type Reply,
  type ScriptCall,
  type StopListening,
  type Wake,
} from '../../../src/clients/client.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import type { ScriptedServer } from './scripted-server.ts';

/** What becomes of one call. */
export interface Fate {
  /** After how long the server runs it; null: never. */
  readonly effectMs: number | null;
  /** After how long the caller hears; null: only its own deadline tells. */
  readonly answerMs: number | null;
  /** What the caller hears instead of the reply. */
  readonly instead?: CallFailure | Reply;
}

/** The server runs it half-way, and the answer is there after that time. */
export const answers = (afterMs = 0): Fate => ({ effectMs: afterMs / 2, answerMs: afterMs });

/** The server never sees it, and nobody says so. */
export const hangs = (): Fate => ({ effectMs: null, answerMs: null });

/** The server runs it; the answer is lost. With a time, the connection is cut then; else nobody says so. */
export const losesAnswer = (cutMs: number | null = null): Fate => ({
  effectMs: 0,
  answerMs: cutMs,
  instead: new CallFailure('unknown', 'the connection was lost'),
});

/** The connection is cut at once and the request is still on its way: the server runs it later, out of order. */
export const takesEffectLate = (effectMs: number, cutMs: number | null = 0): Fate => ({
  ...losesAnswer(cutMs),
  effectMs,
});

/** Never written. */
export const refuses = (afterMs = 0): Fate => ({
  effectMs: null,
  answerMs: afterMs,
  instead: new CallFailure('unreachable', 'no connection'),
});

/** The server answers with an error and has done nothing. */
export const fails = (text: string, afterMs = 0): Fate => ({
  effectMs: null,
  answerMs: afterMs,
  instead: new CallFailure('reply', text, text.split(' ')[0]),
});

/** The server answers something else than its script can. */
export const says = (reply: Reply, afterMs = 0): Fate => ({
  effectMs: null,
  answerMs: afterMs,
  instead: reply,
});

/** One call as it was sent. */
export interface SentCall {
  readonly script: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  readonly timeoutMs: number;
  /** By our monotonic clock. */
  readonly sentMs: number;
}

type Ended = Reply | CallFailure;

/** Scripts by their names; `listen` stands for a subscription. */
export type CallName =
  | `${'lock' | 'mutex'}.${'acquire' | 'release' | 'renew'}`
  | 'lock.recount'
  | 'listen'
  | 'any';

export class ScriptedClient implements Client {
  readonly [CLIENT] = true as const;
  readonly description = 'scripted';
  readonly keyPrefix: string = '';
  readonly isConnected: boolean = true;
  readonly connections: number = 1;
  readonly calls: SentCall[] = [];
  /** Messages do not arrive. */
  isDeaf = false;
  /** Decides for every call that has no fate of its own. */
  decide: (call: SentCall) => Fate = () => answers();
  readonly #clock: Clock;
  readonly #server: ScriptedServer;
  readonly #next = new Map<string, Fate[]>();
  readonly #standing = new Map<string, Fate>();
  readonly #inFlight = new Set<(result: Ended) => void>();
  readonly #stops = new Set<StopListening>();
  #isClosed = false;

  constructor(clock: Clock, server: ScriptedServer) {
    this.#clock = clock;
    this.#server = server;
  }

  /** The next calls of that name go so, one after the other. */
  next(name: CallName, ...fates: Fate[]): void {
    this.#next.set(name, [...(this.#next.get(name) ?? []), ...fates]);
  }

  /** From now on every call of that name goes so. */
  from(name: CallName, fate: Fate): void {
    this.#standing.set(name, fate);
  }

  /** From now on everything is answered at once. What is on its way stays so. */
  heal(): void {
    this.#next.clear();
    this.#standing.clear();
    this.decide = () => answers();
    this.isDeaf = false;
  }

  sent(name: CallName): SentCall[] {
    return name === 'any' ? [...this.calls] : this.calls.filter(({ script }) => script === name);
  }

  run(call: ScriptCall, timeoutMs: number): Promise<Ended> {
    return this.#send(call.script.name, call.keys, call.args, timeoutMs, () => this.#server.execute(call));
  }

  async listen(channel: string, wake: Wake, timeoutMs: number): Promise<StopListening | CallFailure> {
    let stop: StopListening = () => {};
    let isOver = false;
    const heard: Wake = (message) => {
      if (!this.isDeaf) wake(message);
    };
    const result = await this.#send('listen', [channel], [], timeoutMs, () => {
      // A subscription goes with its connection: one that was given up is never heard of again.
      if (isOver) return null;
      const stopServer = this.#server.channels.listen(channel, heard);
      stop = () => {
        stopServer();
        this.#stops.delete(stop);
      };
      this.#stops.add(stop);
      return null;
    });
    if (!(result instanceof CallFailure)) return stop;
    isOver = true;
    stop();
    return result;
  }

  /** The connection is back after an interruption: messages may have been missed. */
  resync(channel: string): void {
    this.#server.channels.publish(channel, null);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const stop of this.#stops) stop();
    for (const end of this.#inFlight) end(new CallFailure('unknown', 'closed before the answer'));
  }

  #send(
    script: string,
    keys: readonly string[],
    args: readonly string[],
    timeoutMs: number,
    execute: () => Reply,
  ): Promise<Ended> {
    const call: SentCall = { script, keys, args, timeoutMs, sentMs: this.#clock.monotonicMs() };
    this.calls.push(call);
    if (this.#isClosed) return Promise.resolve(new CallFailure('closed', 'the client is closed'));
    const fate = this.#fateOf(call);
    return new Promise((resolve) => {
      const end = (result: Ended): void => {
        this.#inFlight.delete(end);
        resolve(result);
      };
      this.#inFlight.add(end);
      this.#play(fate, timeoutMs, execute, end);
    });
  }

  #play(fate: Fate, timeoutMs: number, execute: () => Reply, end: (result: Ended) => void): void {
    const { effectMs, answerMs, instead } = fate;
    let reply: Reply = null;
    if (effectMs !== null) this.#after(effectMs, () => (reply = execute()));
    const isWritten = !(instead instanceof CallFailure && instead.kind === 'unreachable');
    if (answerMs !== null && answerMs <= timeoutMs) this.#after(answerMs, () => end(instead ?? reply));
    else this.#after(timeoutMs, () => end(noAnswer(isWritten, timeoutMs)));
  }

  #fateOf(call: SentCall): Fate {
    const own = this.#next.get(call.script)?.shift() ?? this.#next.get('any')?.shift();
    return own ?? this.#standing.get(call.script) ?? this.#standing.get('any') ?? this.decide(call);
  }

  /** The double's own timers do not hold the process: those that do are the code's under test. */
  #after(delayMs: number, work: () => void): void {
    if (delayMs === 0) work();
    else this.#clock.startTimer(delayMs, work).unref();
  }
}

function noAnswer(isWritten: boolean, timeoutMs: number): CallFailure {
  if (isWritten) return new CallFailure('unknown', `no answer within ${timeoutMs} ms`);
  return new CallFailure('unreachable', `no connection within ${timeoutMs} ms`);
}
