/** Scripts and single commands over a connection of our own, which is made when the first of them needs it. */
import type { TimerQueue } from '../../runtime/timer-queue.ts';
import { CallFailure, type ScriptCall } from '../client.ts';
import { Call, type CallResult, type CallTerms, refusal } from './call.ts';
import { CallBatcher } from './call-batcher.ts';
import { InFlight } from './in-flight.ts';
import type { Dialler, RawConnection } from './raw-connection.ts';
import { ReconnectingConnection } from './reconnecting-connection.ts';
import { STALL_MS_MAX } from './stall-watch.ts';

const CLOSED = new CallFailure('closed', 'the client was closed before the call was sent');

export interface ConnectionOptions {
  /** Most calls in one request. @default 1 */
  readonly bundleMax?: number;
  /** Whether the process stays alive for an answer to `command`. @default true */
  readonly keepsAlive?: boolean;
  up?(): void;
  /** A connection that was up is up no more, whoever ended it. */
  lost?(): void;
  /** The connection was lost or could not be made. Written calls have ended as unknown, the others as `failure`. */
  down?(failure: CallFailure): void;
}

export interface CommandTerms {
  readonly timeoutMs: number;
  /** How long the connection may be silent before it is suspected. @default it is not suspected for this command */
  readonly patienceMs?: number;
  /** The only connection on which the command makes sense. Once it is lost the answer is unknown. @default any */
  readonly on?: RawConnection | null;
}

export class Connection {
  readonly #timers: TimerQueue;
  readonly #options: ConnectionOptions;
  readonly #reconnecting: ReconnectingConnection;
  readonly #batcher: CallBatcher;
  /** Calls made while the connection comes up, in the order in which they will be written. */
  readonly #waiting = new Set<Call>();
  #inFlight: InFlight | null = null;
  #connections = 0;
  #isClosed = false;

  constructor(dialler: Dialler, timers: TimerQueue, options: ConnectionOptions = {}) {
    this.#timers = timers;
    this.#options = options;
    this.#reconnecting = new ReconnectingConnection(dialler, timers, {
      up: (open) => this.#up(new InFlight(open, () => this.#leaveReplica())),
      down: (reason, cause) => this.#down(reason, cause),
    });
    const target = {
      inFlight: (): number => this.#inFlight?.size ?? 0,
      write: (calls: readonly Call[]): void => this.#writeBundle(calls),
    };
    this.#batcher = new CallBatcher(target, options.bundleMax ?? 1);
  }

  get isConnected(): boolean {
    return this.#inFlight !== null;
  }

  get connections(): number {
    return this.#connections;
  }

  /** Connects unless that is done or under way. */
  open(): void {
    this.#reconnecting.open();
  }

  run(script: ScriptCall, timeoutMs: number): Promise<CallResult> {
    const refused = refusal(this.#isClosed, timeoutMs);
    if (refused !== null) return Promise.resolve(refused);
    const call = new Call(script, { timeoutMs }, this.#timers);
    const inFlight = this.#writable;
    if (inFlight === null) this.#wait(call);
    else if (!this.#batcher.take(call, script)) inFlight.write([call], call.startedMs);
    call.arm();
    return call.result;
  }

  /** One command that is no script of ours; the reply is in the shape that the client gives, or a `CallFailure`. */
  command(command: readonly string[], { timeoutMs, patienceMs, on }: CommandTerms): Promise<unknown> {
    const refused = refusal(this.#isClosed, timeoutMs);
    if (refused !== null) return Promise.resolve(refused);
    if (on !== undefined && (on === null || on !== this.#writable?.raw)) {
      return Promise.resolve(new CallFailure('unknown', 'the connection was lost'));
    }
    const { keepsAlive = true } = this.#options;
    const terms: CallTerms = { timeoutMs, keepsAlive, patienceMs: patienceMs ?? STALL_MS_MAX };
    const call = new Call({ script: null, command }, terms, this.#timers);
    this.send(call);
    call.arm();
    return call.result;
  }

  /** Writes a `Call` that was made elsewhere, now or when the connection is up. */
  send(call: Call): void {
    const inFlight = this.#writable;
    if (inFlight === null) this.#wait(call);
    else inFlight.write([call], this.#timers.clock.monotonicMs());
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#reconnecting.close();
    this.#cut('the client was closed before the answer came');
    this.#endWaiting(CLOSED);
  }

  /** Null while there is no connection, and when the server has turned out to be a replica. */
  get #writable(): InFlight | null {
    return this.#inFlight?.isReplica === false ? this.#inFlight : null;
  }

  #writeBundle(calls: readonly Call[]): void {
    const inFlight = this.#writable;
    if (inFlight !== null) {
      inFlight.write(calls, this.#timers.clock.monotonicMs());
      return;
    }
    // Lost since the calls were gathered. Not kept for the next connection: the server may have restarted since.
    const failure = this.#isClosed
      ? CLOSED
      : new CallFailure('unreachable', 'the connection was lost just now');
    for (const call of calls) call.end(failure);
  }

  #wait(call: Call): void {
    this.#waiting.add(call);
    void call.result.then(() => this.#waiting.delete(call));
    this.#reconnecting.open();
  }

  #up(inFlight: InFlight): void {
    this.#connections += 1;
    this.#inFlight = inFlight;
    const nowMs = this.#timers.clock.monotonicMs();
    for (const call of this.#waiting) inFlight.write([call], nowMs);
    this.#waiting.clear();
    this.#options.up?.();
  }

  /** Closes the connection to a server that has become a replica: its address may lead to the new primary by now. */
  #leaveReplica(): void {
    this.#reconnecting.close();
    this.#cut('the server has become a replica');
    if (this.#waiting.size > 0) this.#reconnecting.open();
  }

  #down(reason: string, cause: unknown): void {
    this.#cut(`the connection was lost: ${reason}`, cause);
    const failure = new CallFailure('unreachable', reason, '', cause);
    this.#endWaiting(failure);
    this.#options.down?.(failure);
  }

  #cut(reason: string, cause?: unknown): void {
    if (this.#inFlight !== null) this.#options.lost?.();
    this.#inFlight?.cut(reason, cause);
    this.#inFlight = null;
    this.#batcher.flush();
  }

  #endWaiting(failure: CallFailure): void {
    const calls = [...this.#waiting];
    this.#waiting.clear();
    for (const call of calls) call.end(failure);
  }
}
