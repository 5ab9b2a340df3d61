/**
 * Runs scripts that write and counts which replicas have what they wrote, on a connection of its own: the server answers
 * nothing else on a connection while it counts.
 *
 * WAIT is about the writes of its own connection: for the writes of others the server asks nobody, and says at once that
 * every replica has them. (Redis 7.0 still counts them; later versions and Valkey do not.) So the script whose write is
 * to be counted runs here. It goes in rounds: the scripts of a round are written, and when all have answered one WAIT
 * counts for all of them. Writes that come meanwhile make up the next round.
 */

import { describeReply } from '../../runtime/describe.ts';
import { inMs } from '../../runtime/printable.ts';
import type { TimerQueue } from '../../runtime/timer-queue.ts';
import { within } from '../../runtime/timers.ts';
import {
  type Acknowledged,
  CallFailure,
  type Copies,
  type ReplicaTerms,
  type ScriptCall,
} from '../client.ts';
import { Call, refusal } from './call.ts';
import { Connection } from './connection.ts';
import type { Dialler } from './raw-connection.ts';
import { patienceMs } from './stall-watch.ts';

/**
 * WAIT ends this much before the call's deadline: Redis checks WAIT timeouts every 100 ms, and a count that arrives is
 * worth more than one that was given up. WAIT gets at least half of what is left, in any case.
 */
const WAIT_MARGIN_MS = 125;

const CLOSED = new CallFailure('closed', 'the client was closed before the call was sent');

/** One script whose write is to be counted. */
interface Write {
  readonly call: Call;
  readonly terms: ReplicaTerms;
  /** Set when the script has answered and its round was counted. */
  readonly count: Count;
}

interface Count {
  readonly promise: Promise<Copies | CallFailure>;
  readonly resolve: (copies: Copies | CallFailure) => void;
}

export class ReplicaCount {
  readonly #timers: TimerQueue;
  readonly #connection: Connection;
  /** The writes of the next round. */
  #waiting: Write[] = [];
  #isRoundOn = false;
  #isClosed = false;

  constructor(dialler: Dialler, timers: TimerQueue) {
    this.#timers = timers;
    this.#connection = new Connection(dialler, timers, {
      up: () => this.#next(),
      // Waiting writes are not kept for the next connection, which may lead to another server.
      down: (failure) => this.#endWaiting(failure),
    });
  }

  async acknowledge(
    script: ScriptCall,
    terms: ReplicaTerms,
    timeoutMs: number,
  ): Promise<Acknowledged | CallFailure> {
    const refused = refusal(this.#isClosed, timeoutMs);
    if (refused !== null) return refused;
    const write = { call: new Call(script, { timeoutMs }, this.#timers), terms, count: newCount() };
    write.call.arm();
    this.#waiting.push(write);
    if (!this.#connection.isConnected) this.#connection.open();
    // The round begins in a microtask, so that other writes of this turn of the event loop share it.
    else if (this.#waiting.length === 1) queueMicrotask(() => this.#next());
    const reply = await write.call.result;
    if (reply instanceof CallFailure) return reply;
    return { reply, copies: this.#limited(write) };
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connection.close();
    this.#endWaiting(CLOSED);
  }

  #endWaiting(failure: CallFailure): void {
    for (const { call } of this.#waiting.splice(0)) call.end(failure);
  }

  #next(): void {
    if (this.#isRoundOn) return;
    this.#waiting = this.#waiting.filter(({ call }) => !call.hasEnded);
    if (this.#waiting.length === 0) return;
    if (this.#connection.isConnected) void this.#play(this.#waiting.splice(0));
    else this.#connection.open();
  }

  /** Never rejects: what goes wrong is the result of the writes that it concerns. */
  async #play(round: readonly Write[]): Promise<void> {
    this.#isRoundOn = true;
    // In one go, so that all of them are on one connection: the one that is asked to count.
    for (const { call } of round) this.#connection.send(call);
    const replies = await Promise.all(round.map(({ call }) => call.result));
    const answered = round.filter((_, i) => !(replies[i] instanceof CallFailure));
    if (answered.length > 0) {
      const copies = await this.#count(answered);
      for (const { count } of answered) count.resolve(copies);
    }
    this.#isRoundOn = false;
    this.#next();
  }

  async #count(writes: readonly Write[]): Promise<Copies | CallFailure> {
    const nowMs = this.#timers.clock.monotonicMs();
    let min = 0;
    let waitMs = 1;
    let longestMs = 0;
    for (const { call, terms } of writes) {
      const leftMs = call.startedMs + call.timeoutMs - nowMs;
      const countMs = Math.floor(Math.max(leftMs - WAIT_MARGIN_MS, leftMs / 2));
      min = Math.max(min, terms.min);
      waitMs = Math.max(waitMs, Math.min(terms.timeoutMs, countMs));
      longestMs = Math.max(longestMs, leftMs);
    }
    const isOnDisk = writes.some(({ terms }) => terms.aof);
    const command = isOnDisk ? ['WAITAOF', '1', `${min}`, `${waitMs}`] : ['WAIT', `${min}`, `${waitMs}`];
    const reply = await this.#connection.command(command, {
      // The count outlasts the longest deadline of the writes that it is for, so that each write ends at its own deadline.
      timeoutMs: longestMs + WAIT_MARGIN_MS,
      // A server that waits for replicas says nothing on this connection: that silence is no stall.
      patienceMs: patienceMs(waitMs) + waitMs + WAIT_MARGIN_MS,
      on: writes[0]?.call.writtenTo ?? null,
    });
    return reply instanceof CallFailure ? reply : copiesOf(reply);
  }

  /** The count for a write, at the deadline of the write at the latest. */
  #limited({ call, count }: Write): Promise<Copies | CallFailure> {
    const { startedMs, timeoutMs } = call;
    const leftMs = startedMs + timeoutMs - this.#timers.clock.monotonicMs();
    return within(
      this.#timers,
      count.promise,
      leftMs,
      () => new CallFailure('unknown', `no answer within ${inMs(timeoutMs)}`),
    );
  }
}

function newCount(): Count {
  let resolve: Count['resolve'] = () => {};
  const promise = new Promise<Copies | CallFailure>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

function copiesOf(reply: unknown): Copies | CallFailure {
  const [local, replicas] = Array.isArray(reply) ? reply.map(Number) : [0, Number(reply)];
  if (Number.isInteger(local) && Number.isInteger(replicas)) {
    // `Number.isInteger` narrows no type: the compiler does not see that both are numbers.
    return { local: local as number, replicas: replicas as number };
  }
  return new CallFailure('unknown', `a count we cannot read: ${describeReply(reply)}`);
}
