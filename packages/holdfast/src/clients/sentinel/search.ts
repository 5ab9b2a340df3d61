/** Asks sentinels which server is the primary. */

import { describeReply } from '../../runtime/describe.ts';
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import { CallFailure } from '../client.ts';
import { Connection } from '../connection/connection.ts';
import {
  CONNECT_MS_MAX,
  type RawConnection,
  type RawConnectionEvents,
} from '../connection/raw-connection.ts';
import { reasonOf } from '../connection/reply-errors.ts';
import { type Address, type Answer, isSame } from './address.ts';
import type { PrimaryMemory } from './primary-memory.ts';

/** What a caller's client knows of sentinels, and how it connects to them and to what they name. */
export interface Sentinels {
  /** Which client, where. No secrets. */
  readonly description: string;
  readonly keyPrefix: string;
  /** What the sentinels call the primary. */
  readonly name: string;
  readonly addresses: readonly Address[];
  /** Resolves when connections can be made. Whoever does not wait for that any more aborts the signal. */
  ready(signal: AbortSignal): Promise<void>;
  dialSentinel(address: Address, events: RawConnectionEvents, signal: AbortSignal): Promise<RawConnection>;
  dialPrimary(address: Address, events: RawConnectionEvents, signal: AbortSignal): Promise<RawConnection>;
}

/**
 * How long the other sentinels may take once one has answered. During a failover sentinels disagree for a second or two,
 * and the one that leads it knows best; but a frozen sentinel must not keep us from a primary that all others name.
 */
const STRAGGLER_MS = 250;

export interface SearchTools {
  readonly timers: TimerQueue;
  readonly memory: PrimaryMemory;
  /** How long the search may take in all. */
  readonly limitMs: number;
}

/** One search: all sentinels are asked at once. What is found is remembered. */
export class PrimarySearch {
  readonly result: Promise<Address>;
  readonly #sentinels: Sentinels;
  readonly #timers: TimerQueue;
  readonly #memory: PrimaryMemory;
  readonly #deadline = new Deadline(() => this.#settle(), false);
  readonly #straggler = new Deadline(() => this.#settleIfFound(), false);
  readonly #abort = new AbortController();
  readonly #connections: Connection[] = [];
  readonly #answers: Answer[] = [];
  readonly #refusals: string[] = [];
  #resolve: (address: Address) => void = () => {};
  #reject: (error: Error) => void = () => {};
  #isOver = false;

  constructor(sentinels: Sentinels, { timers, memory, limitMs }: SearchTools) {
    this.#sentinels = sentinels;
    this.#timers = timers;
    this.#memory = memory;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // A search that fails when all callers have left: a rejection that nobody handles would end the process.
    this.result.catch(() => {});
    timers.setIn(this.#deadline, limitMs);
    sentinels.ready(this.#abort.signal).then(
      () => this.#askAll(),
      (error: unknown) => this.#fail(reasonOf(error)),
    );
  }

  /** Ends the search; a result that is still open is rejected. */
  cancel(): void {
    this.#isOver = true;
    this.#timers.cancel(this.#deadline);
    this.#timers.cancel(this.#straggler);
    this.#abort.abort();
    for (const connection of this.#connections.splice(0)) connection.close();
    this.#reject(new Error('the search for the primary was cancelled'));
  }

  #askAll(): void {
    if (this.#isOver) return;
    for (const address of this.#sentinels.addresses) {
      this.#ask(address).then(
        (answer) => this.#note(answer),
        (error: unknown) => this.#note(`${address.host}:${address.port}: ${reasonOf(error)}`),
      );
    }
  }

  /**
   * Two questions: SENTINEL MASTER for the epoch, then GET-MASTER-ADDR-BY-NAME for the address. The address in the reply
   * of SENTINEL MASTER cannot be used: the sentinel that leads a failover shows the new epoch beside the old address until
   * every replica follows the new primary. The address is asked for second, so that a change between the two questions
   * never gives an old address with a new epoch.
   */
  async #ask(sentinel: Address): Promise<Answer> {
    const { name } = this.#sentinels;
    const dial = (events: RawConnectionEvents, signal: AbortSignal): Promise<RawConnection> =>
      this.#sentinels.dialSentinel(sentinel, events, signal);
    // The call that waits for the primary keeps the process alive, so this connection need not.
    const connection = new Connection({ dial }, this.#timers, { keepsAlive: false });
    this.#connections.push(connection);
    const answer = async (...command: string[]): Promise<unknown> => {
      // This limit is longer than any search may take: the search has the deadline that counts.
      const reply = await connection.command(command, { timeoutMs: CONNECT_MS_MAX });
      if (reply instanceof CallFailure) throw new Error(reply.text);
      return reply;
    };
    const [state, address] = await Promise.all([
      answer('SENTINEL', 'MASTER', name),
      answer('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name),
    ]);
    return answerOf(fieldsOf(state), address);
  }

  #note(answer: Answer | string): void {
    if (this.#isOver) return;
    if (typeof answer === 'string') this.#refusals.push(answer);
    else this.#answers.push(answer);
    if (this.#silent === 0) this.#settle();
    else if (this.#newest() !== undefined && !this.#straggler.isSet) {
      this.#timers.setIn(this.#straggler, STRAGGLER_MS);
    }
  }

  get #silent(): number {
    return this.#sentinels.addresses.length - this.#answers.length - this.#refusals.length;
  }

  /** Judged as late as possible: an answer that was news when it came may be old by now. */
  #newest(): Answer | undefined {
    return latestOf(this.#answers.filter((answer) => this.#memory.believes(answer)));
  }

  #settleIfFound(): void {
    if (this.#newest() !== undefined) this.#settle();
  }

  #settle(): void {
    const newest = this.#newest() ?? this.#lastResort();
    if (newest === undefined) {
      const stale = this.#answers.map(({ host, port }) => `${host}:${port} is named, which was replaced`);
      const silent = this.#silent === 0 ? [] : [`${this.#silent} did not answer`];
      this.#fail([...this.#refusals, ...stale, ...silent].join('; '));
    } else {
      this.#memory.learn(newest);
      this.#resolve({ host: newest.host, port: newest.port });
      this.cancel();
    }
  }

  #lastResort(): Answer | undefined {
    return this.#answers.length > 0 && this.#memory.contradict() ? latestOf(this.#answers) : undefined;
  }

  #fail(reasons: string): void {
    if (this.#isOver) return;
    this.#reject(new Error(`no sentinel names the primary ${this.#sentinels.name}: ${reasons}`));
    this.cancel();
  }
}

/** At equal epochs it is the leader's: its epoch may have been read a moment too early, its address not. */
function latestOf(answers: readonly Answer[]): Answer | undefined {
  const isLeader = (answer: Answer): number => (isSame(answer, answer.from) ? 0 : 1);
  const [latest] = [...answers].sort((a, b) => b.epoch - a.epoch || isLeader(b) - isLeader(a));
  return latest;
}

/** The fields of a reply that is a list of names and values in turn, a map, or an object: clients differ. */
function fieldsOf(reply: unknown): Map<string, unknown> {
  if (reply instanceof Map) return new Map([...reply].map(([name, value]) => [String(name), value]));
  if (!Array.isArray(reply)) return new Map(Object.entries(reply ?? {}));
  const fields = new Map<string, unknown>();
  for (let i = 0; i + 1 < reply.length; i += 2) fields.set(String(reply[i]), reply[i + 1]);
  return fields;
}

function answerOf(state: Map<string, unknown>, reply: unknown): Answer {
  const [host, port]: unknown[] = Array.isArray(reply) ? reply : [];
  const address = { host: String(host), port: Number(port) };
  const epoch = Number(state.get('config-epoch') ?? 0);
  if (typeof host === 'string' && Number.isInteger(address.port) && Number.isInteger(epoch)) {
    const from = { host: String(state.get('ip')), port: Number(state.get('port')) };
    return { ...address, epoch, from };
  }
  throw new Error(`an answer we cannot read: ${describeReply(reply)}`);
}
