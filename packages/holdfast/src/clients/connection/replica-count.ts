/**
 * Runs scripts that write and counts who has what they wrote, on a connection of its own: the server answers nothing
 * else on it while it counts.
 *
 * The count is of what its own connection wrote: the server asks nobody about the writes of others, and says at once
 * that every replica has them. (Redis 7.0 still counts them; later ones and Valkey do not.) So the script that is to
 * be counted runs here. It goes in rounds: the scripts of a round are written, and when all have answered one WAIT
 * counts for all of them. What comes meanwhile makes up the next round.
 */

import { describeReply } from '../../runtime/describe.ts';
import { inMs } from '../../runtime/printable.ts';
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import {
  type Acknowledged,
  CallFailure,
  type Copies,
  type ReplicaTerms,
  type Reply,
  type ScriptCall,
} from '../client.ts';
import { refusal } from './call.ts';
import type { Driver, Wire } from './raw-connection.ts';
import { Link } from './reconnecting-connection.ts';
import { reasonOf, replyFailure, replyWord } from './reply-errors.ts';
import { patienceMs, type Silence } from './stall-watch.ts';

/**
 * The server may count for so much less than what is left of a call: an idle one looks at its time limits ten times a
 * second only, and a count that arrives is worth more than one that was given up. At least half of it, in any case.
 */
const WAY_BACK_MS = 125;

/** The connection as it is while it is up. */
interface Line {
  readonly wire: Wire;
  readonly silence: Silence;
}

/** One script on its way, and the count behind it. */
class Write {
  readonly call: ScriptCall;
  readonly terms: ReplicaTerms;
  readonly untilMs: number;
  readonly answer: Promise<Acknowledged | CallFailure>;
  readonly #copies: Promise<Copies | CallFailure>;
  readonly #timers: TimerQueue;
  readonly #deadline: Deadline;
  #endAnswer: (answer: Acknowledged | CallFailure) => void = () => {};
  #endCopies: (copies: Copies | CallFailure) => void = () => {};
  state: 'waiting' | 'written' | 'answered' | 'ended' = 'waiting';

  constructor(call: ScriptCall, terms: ReplicaTerms, timeoutMs: number, timers: TimerQueue) {
    this.call = call;
    this.terms = terms;
    this.#timers = timers;
    this.untilMs = timers.clock.monotonicMs() + timeoutMs;
    this.answer = new Promise((resolve) => {
      this.#endAnswer = resolve;
    });
    this.#copies = new Promise((resolve) => {
      this.#endCopies = resolve;
    });
    // It holds the process, as every call in flight does.
    this.#deadline = new Deadline(() => this.fail(`no answer within ${inMs(timeoutMs)}`), true);
    timers.setAt(this.#deadline, this.untilMs);
  }

  answered(reply: Reply): void {
    if (this.state !== 'written') return;
    this.state = 'answered';
    this.#endAnswer({ reply, copies: this.#copies });
  }

  counted(copies: Copies | CallFailure): void {
    if (this.state === 'answered') this.#endCopies(copies);
    this.#end();
  }

  /** The connection or the time is over. */
  fail(reason: string, cause?: unknown): void {
    const kind = this.state === 'waiting' ? 'unreachable' : 'unknown';
    this.refuse(new CallFailure(kind, reason, '', cause));
  }

  refuse(failure: CallFailure): void {
    if (this.state === 'answered') this.#endCopies(failure);
    else if (this.state !== 'ended') this.#endAnswer(failure);
    this.#end();
  }

  #end(): void {
    this.state = 'ended';
    this.#timers.cancel(this.#deadline);
  }
}

export class Acknowledgements {
  readonly #timers: TimerQueue;
  readonly #link: Link;
  /** Those of the next round. */
  #waiting: Write[] = [];
  /** Those of the round that is under way. */
  #round: Write[] = [];
  #line: Line | null = null;
  #isClosed = false;

  constructor(driver: Driver, timers: TimerQueue) {
    this.#timers = timers;
    this.#link = new Link(driver, timers, {
      up: (wire, silence) => this.#up({ wire, silence }),
      down: (reason, cause) => this.#down(reason, cause),
      message: () => {},
    });
    this.#link.hold(false);
  }

  acknowledge(call: ScriptCall, terms: ReplicaTerms, timeoutMs: number): Promise<Acknowledged | CallFailure> {
    const refused = refusal(this.#isClosed, timeoutMs);
    if (refused !== null) return Promise.resolve(refused);
    const write = new Write(call, terms, timeoutMs, this.#timers);
    this.#waiting.push(write);
    if (this.#line === null) this.#link.open();
    // Not at once: whatever else comes in this turn travels along.
    else if (this.#waiting.length === 1) queueMicrotask(() => this.#next());
    return write.answer;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#line = null;
    this.#link.close();
    const failure = new CallFailure('closed', 'the client was closed before the call was sent');
    for (const write of this.#waiting.splice(0)) write.refuse(failure);
    for (const write of this.#round.splice(0)) write.fail('the client was closed before the answer came');
  }

  #up(line: Line): void {
    this.#line = line;
    this.#next();
  }

  #down(reason: string, cause: unknown): void {
    this.#line = null;
    const writes = [...this.#round.splice(0), ...this.#waiting.splice(0)];
    for (const write of writes) write.fail(reason, cause);
  }

  #next(): void {
    const line = this.#line;
    if (line === null || this.#round.length > 0) return;
    this.#round = this.#waiting.splice(0).filter(({ state }) => state === 'waiting');
    if (this.#round.length > 0) void this.#play(line, this.#round);
  }

  /** Never rejects: what goes wrong ends the writes that it concerns. */
  async #play(line: Line, round: readonly Write[]): Promise<void> {
    const replies = round.map((write) => this.#run(line, write));
    const isReplica = (await Promise.all(replies)).includes('READONLY');
    if (this.#line !== line) return;
    const open = round.filter(({ state }) => state === 'answered');
    if (open.length > 0) {
      const copies = await this.#count(line, open);
      if (this.#line !== line) return;
      for (const write of open) write.counted(copies);
    }
    this.#round = [];
    // It was a primary once. The next connection looks for the one that is.
    if (isReplica) this.#drop();
    else this.#next();
  }

  #drop(): void {
    this.#link.close();
    this.#line = null;
    if (this.#waiting.length > 0) this.#link.open();
  }

  /** The first word of an error reply, if that is what came. */
  async #run(line: Line, write: Write): Promise<string | null> {
    write.state = 'written';
    try {
      // The scripts are ours, and answer in these shapes only.
      write.answered((await this.#script(line, write)) as Reply);
      return null;
    } catch (error) {
      const word = replyWord(error);
      if (word === null) write.fail(reasonOf(error), error);
      else write.refuse(replyFailure(error, word));
      return word;
    }
  }

  async #script({ wire, silence }: Line, write: Write): Promise<unknown> {
    const send = (isByText: boolean): Promise<unknown> =>
      this.#ask(silence, patienceMs(write.untilMs - this.#timers.clock.monotonicMs()), () =>
        wire.send(write.call, isByText, false),
      );
    try {
      return await send(false);
    } catch (error) {
      // One that was given up is not sent again: its caller may have released it meanwhile.
      if (replyWord(error) !== 'NOSCRIPT' || write.state !== 'written') throw error;
      return await send(true);
    }
  }

  async #count({ wire, silence }: Line, writes: readonly Write[]): Promise<Copies | CallFailure> {
    const nowMs = this.#timers.clock.monotonicMs();
    let min = 0;
    let forMs = 1;
    for (const { terms, untilMs } of writes) {
      min = Math.max(min, terms.min);
      const leftMs = untilMs - nowMs;
      const countMs = Math.floor(Math.max(leftMs - WAY_BACK_MS, leftMs / 2));
      forMs = Math.max(forMs, Math.min(terms.timeoutMs, countMs));
    }
    const isOnDisk = writes.some(({ terms }) => terms.aof);
    const command = isOnDisk ? ['WAITAOF', '1', `${min}`, `${forMs}`] : ['WAIT', `${min}`, `${forMs}`];
    try {
      // While it counts the server rightly says nothing, on this connection.
      const patience = patienceMs(forMs) + forMs + WAY_BACK_MS;
      return copiesOf(await this.#ask(silence, patience, () => wire.command(command)));
    } catch (error) {
      const word = replyWord(error);
      return word === null
        ? new CallFailure('unknown', reasonOf(error), '', error)
        : replyFailure(error, word);
    }
  }

  async #ask(silence: Silence, patience: number, question: () => Promise<unknown>): Promise<unknown> {
    silence.sent(this.#timers.clock.monotonicMs(), patience);
    try {
      return await question();
    } finally {
      silence.answered();
    }
  }
}

function copiesOf(reply: unknown): Copies | CallFailure {
  const [local, replicas] = Array.isArray(reply) ? reply.map(Number) : [0, Number(reply)];
  if (Number.isInteger(local) && Number.isInteger(replicas)) {
    // Both are integers by now, which the compiler does not see.
    return { local: local as number, replicas: replicas as number };
  }
  return new CallFailure('unknown', `a count we cannot read: ${describeReply(reply)}`);
}
