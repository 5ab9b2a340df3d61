/** Runs scripts over a connection of our own. */
import type { TimerQueue } from '../../runtime/timer-queue.ts';
import { CallFailure, type ScriptCall } from '../client.ts';
import { Call, type CallResult, refusal } from './call.ts';
import { Turn } from './call-batcher.ts';
import { Line } from './in-flight.ts';
import type { Driver, Wire } from './raw-connection.ts';
import { Link } from './reconnecting-connection.ts';
import type { Silence } from './stall-watch.ts';

const CLOSED = new CallFailure('closed', 'the client was closed before the call was sent');

export class Connection {
  readonly #timers: TimerQueue;
  readonly #link: Link;
  /** Calls made while the connection comes up, in the order in which they will be written. */
  readonly #waiting = new Set<Call>();
  readonly #turn: Turn;
  #line: Line | null = null;
  #connections = 0;
  #isClosed = false;

  constructor(driver: Driver, timers: TimerQueue, bundleMax = 1) {
    this.#timers = timers;
    this.#link = new Link(driver, timers, {
      up: (wire, silence) => this.#up(wire, silence),
      down: (reason, cause) => this.#down(reason, cause),
      message: () => {},
    });
    const target = {
      inFlight: (): number => this.#line?.size ?? 0,
      write: (calls: readonly Call[]): void => this.#writeTurn(calls),
    };
    this.#turn = new Turn(target, bundleMax);
    // A call holds the process by its deadline, so the socket never has to: no system call for each lone call.
    this.#link.hold(false);
  }

  get isConnected(): boolean {
    return this.#line !== null;
  }

  get connections(): number {
    return this.#connections;
  }

  run(request: ScriptCall, timeoutMs: number): Promise<CallResult> {
    const refused = refusal(this.#isClosed, timeoutMs);
    if (refused !== null) return Promise.resolve(refused);
    const call = new Call(request, timeoutMs, this.#timers);
    if (this.#line === null || this.#line.isLeaving) this.#wait(call);
    else if (!this.#turn.take(call)) this.#line.write([call], call.startedMs);
    call.arm();
    return call.result;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#link.close();
    this.#line?.cut('the client was closed before the answer came');
    this.#line = null;
    this.#turn.flush();
    this.#endWaiting(CLOSED);
  }

  #writeTurn(calls: readonly Call[]): void {
    if (this.#line !== null && !this.#line.isLeaving) {
      this.#line.write(calls, this.#timers.clock.monotonicMs());
      return;
    }
    // Lost since the turn began. Not kept for the next one: whoever asked knew this server, and it may have restarted.
    const failure = this.#isClosed
      ? CLOSED
      : new CallFailure('unreachable', 'the connection was lost just now');
    for (const call of calls) call.end(failure);
  }

  #wait(call: Call): void {
    this.#waiting.add(call);
    call.onExpired = () => {
      this.#waiting.delete(call);
      // Some sockets cannot be let go of before they exist. By now it does, and nobody waits for it.
      this.#link.hold(false);
    };
    this.#link.open();
  }

  #up(wire: Wire, silence: Silence): void {
    this.#connections += 1;
    // It was a primary once, and is no use any more. What leads to it may lead to its successor by now.
    this.#line = new Line(wire, silence, () => this.#leave());
    const nowMs = this.#timers.clock.monotonicMs();
    for (const call of this.#waiting) this.#line.write([call], nowMs);
    this.#waiting.clear();
  }

  #leave(): void {
    this.#link.close();
    this.#line?.cut('the server has become a replica');
    this.#line = null;
    this.#turn.flush();
    if (this.#waiting.size > 0) this.#link.open();
  }

  #down(reason: string, cause: unknown): void {
    this.#line?.cut(`the connection was lost: ${reason}`, cause);
    this.#line = null;
    this.#turn.flush();
    this.#endWaiting(new CallFailure('unreachable', reason, '', cause));
  }

  #endWaiting(failure: CallFailure): void {
    const calls = [...this.#waiting];
    this.#waiting.clear();
    for (const call of calls) call.end(failure);
  }
}
