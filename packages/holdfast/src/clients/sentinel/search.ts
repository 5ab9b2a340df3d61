/** Asks sentinels which server is the primary. */

import { describeReply } from '../../runtime/describe.ts';
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import type { Wire, WireEvents } from '../connection/raw-connection.ts';
import { reasonOf } from '../connection/reply-errors.ts';
import type { PrimaryMemory } from './primary-memory.ts';

/** Where a server listens, as the sentinels say it. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** What a caller's client knows of sentinels, and how it connects to them and to what they name. */
export interface Sentinels {
  /** Which client, where. No secrets. */
  readonly description: string;
  readonly keyPrefix: string;
  /** What they call the primary. */
  readonly name: string;
  readonly addresses: readonly Address[];
  /** Resolves when connections can be made. Whoever does not wait for it any more aborts the signal. */
  ready(signal: AbortSignal): Promise<void>;
  /** The wire can be told before it connects that it does not keep the process alive. */
  dialSentinel(address: Address, events: WireEvents): Wire;
  dialPrimary(address: Address, events: WireEvents): Wire;
}

/**
 * How long the others may take once one has answered. During a failover they disagree for a second or two, and the one
 * that has led it knows best; but one that is frozen must not keep us from a primary that all the others name.
 */
const STRAGGLER_MS = 250;

export interface Answer extends Address {
  /** Grows with every failover: the sentinel with the largest knows best. */
  readonly epoch: number;
  /** Another address than its own while it leads a failover that is past the point of no return: the one before. */
  readonly from: Address;
}

export function isSame(one: Address, other: Address): boolean {
  return one.host === other.host && one.port === other.port;
}

export interface SearchTools {
  readonly timers: TimerQueue;
  readonly memory: PrimaryMemory;
  /** How long it may take in all. */
  readonly limitMs: number;
}

/** All sentinels are asked at once. What is found is remembered. */
export class PrimarySearch {
  readonly result: Promise<Address>;
  readonly #sentinels: Sentinels;
  readonly #timers: TimerQueue;
  readonly #memory: PrimaryMemory;
  readonly #deadline = new Deadline(() => this.#settle(), false);
  readonly #straggler = new Deadline(() => this.#settleIfFound(), false);
  readonly #abort = new AbortController();
  readonly #wires: Wire[] = [];
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
    timers.setIn(this.#deadline, limitMs);
    sentinels.ready(this.#abort.signal).then(
      () => this.#askAll(),
      (error: unknown) => this.#fail(reasonOf(error)),
    );
  }

  /** Ends it; the result stays open, and nobody waits for it any more. */
  cancel(): void {
    this.#isOver = true;
    this.#timers.cancel(this.#deadline);
    this.#timers.cancel(this.#straggler);
    this.#abort.abort();
    for (const wire of this.#wires.splice(0)) wire.drop();
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

  /** A client may leave a command without an answer for ever when its connection is lost. */
  #ask(address: Address): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const wire = this.#sentinels.dialSentinel(address, { lost: reject, message: () => {} });
      this.#wires.push(wire);
      wire.hold(false);
      wire
        .connect()
        .then(() => question(wire, this.#sentinels.name))
        .then(resolve)
        .catch(reject);
    });
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

  /** Judged as late as can be: what was good news when it came may be old by now. */
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
      this.cancel();
      this.#memory.learn(newest);
      this.#resolve({ host: newest.host, port: newest.port });
    }
  }

  #lastResort(): Answer | undefined {
    return this.#answers.length > 0 && this.#memory.doubt() ? latestOf(this.#answers) : undefined;
  }

  #fail(reasons: string): void {
    if (this.#isOver) return;
    this.cancel();
    this.#reject(new Error(`no sentinel names the primary ${this.#sentinels.name}: ${reasons}`));
  }
}

/** At equal epochs it is the leader's: its epoch may have been read a moment too early, its address not. */
function latestOf(answers: readonly Answer[]): Answer | undefined {
  const isLeader = (answer: Answer): number => (isSame(answer, answer.from) ? 0 : 1);
  const [latest] = [...answers].sort((a, b) => b.epoch - a.epoch || isLeader(b) - isLeader(a));
  return latest;
}

/**
 * The state tells the epoch, but not where the primary is: the sentinel that leads a failover has the new epoch there at
 * once, beside the old address, until every replica follows the new primary. Only the other question is answered with
 * the new one. It comes second, so that what changes between the two is never an old address with a new epoch.
 */
async function question(wire: Wire, name: string): Promise<Answer> {
  const [state, address] = await Promise.all([
    wire.command(['SENTINEL', 'MASTER', name]),
    wire.command(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name]),
  ]);
  return answerOf(fieldsOf(state), address);
}

/** Names and values in turn, or an object of them: clients differ. */
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
