/**
 * One of several servers as it is asked: with a time limit of its own, and with a lesson from every answer. An answer
 * tells how fast the server is, a missing answer that it is down.
 */
import { CallFailure, type Client, type ScriptCall } from '../../clients/client.ts';
import type { ServerFailure } from '../../errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type Instant, instantNow } from '../../runtime/instant.ts';
import type { HoldTerms, Protocol, Statement } from '../protocol.ts';
import type { Decider, Decision } from '../server/decision.ts';
import type { Server } from '../server/server.ts';
import type { QueryAnswer, QueryCall, ReleaseResult, ReleaseTerms, StateResult } from '../topology.ts';
import type { NodeHealth } from './node-health.ts';
import type { NodeTimeout } from './node-timeout.ts';

/** A deadline that we notice this much too late has passed while this process stood still. */
const STALL_MS = 5;

const NO_FAILURES: readonly ServerFailure[] = [];

export class TimedServer implements Decider {
  readonly #client: Client;
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #health: NodeHealth;
  readonly #timeout: NodeTimeout;

  constructor(client: Client, server: Server, clock: Clock, health: NodeHealth, timeout: NodeTimeout) {
    this.#client = client;
    this.#server = server;
    this.#clock = clock;
    this.#health = health;
    this.#timeout = timeout;
  }

  /** The parameters are those of `Decider`, as in `server.ts`: TypeScript does not infer them in a class. */
  async acquire(
    protocol: Protocol,
    terms: HoldTerms,
    timeoutMs: number,
    isWanted?: () => boolean,
    sentAt: Instant = instantNow(this.#clock),
  ): Promise<Decision> {
    const { connections } = this.#client;
    const limitMs = this.#timeout.forLease(terms.leaseMs, timeoutMs);
    let sentMs = sentAt.monotonicMs;
    let decision = await this.#server.acquire(protocol, terms, limitMs, isWanted, sentAt);
    if (decision.is === 'granted') {
      this.#timeout.note(decision.heardAt.monotonicMs - sentMs);
      return decision;
    }
    // What was given up meanwhile must not be asked for again: its release has been sent.
    if (this.#isUnread(failuresOf(decision), sentMs + limitMs) && isWanted?.() !== false) {
      sentMs = this.#clock.monotonicMs();
      decision = await this.#server.acquire(protocol, terms, limitMs, isWanted);
    }
    this.#learn(failuresOf(decision), sentMs, connections);
    return decision;
  }

  async release(
    protocol: Protocol,
    terms: ReleaseTerms,
    timeoutMs: number,
    isRepeat: boolean,
  ): Promise<ReleaseResult> {
    if (isRepeat) return this.#server.release(protocol, terms, timeoutMs);
    // A server that cannot be asked now is released when it is back, and costs this caller nothing.
    const { absence } = this.#health;
    if (absence !== null) return { is: 'failed', servers: [absence] };
    const limitMs = this.#timeout.forLease(terms.leaseMs, timeoutMs);
    let asked = 0;
    const ask = (): Promise<ReleaseResult> => {
      asked += 1;
      return this.#server.release(protocol, terms, limitMs);
    };
    const result = await this.#timed(limitMs, ask, failuresOf);
    // Asked twice, it is the first call that has released the holder.
    return asked > 1 && result.is === 'gone' ? { is: 'released', receivers: 0 } : result;
  }

  state(statements: readonly Statement[], timeoutMs: number): Promise<readonly StateResult[]> {
    const leaseMs = Math.min(...statements.map((statement) => statement.leaseMs));
    const limitMs = this.#timeout.forLease(leaseMs, timeoutMs);
    const ask = (): Promise<readonly StateResult[]> => this.#server.state(statements, limitMs);
    return this.#timed(limitMs, ask, ([first]) => (first === undefined ? NO_FAILURES : failuresOf(first)));
  }

  async query(callFor: QueryCall, timeoutMs: number): Promise<readonly QueryAnswer[]> {
    const { absence } = this.#health;
    if (absence === null) {
      const ask = (): Promise<readonly QueryAnswer[]> => this.#server.query(callFor, timeoutMs);
      return this.#timed(timeoutMs, ask, this.#failuresOfQuery, isReading(callFor(0, 'plain')));
    }
    const reply = new CallFailure('unreachable', absence.text);
    return callFor(0, 'plain') === null ? [] : [{ index: 0, server: this.#server.description, reply }];
  }

  async #timed<Result>(
    limitMs: number,
    ask: () => Promise<Result>,
    failuresIn: (result: Result) => readonly ServerFailure[],
    mayAskAgain = true,
  ): Promise<Result> {
    const { connections } = this.#client;
    let sentMs = this.#clock.monotonicMs();
    let result = await ask();
    if (mayAskAgain && this.#isUnread(failuresIn(result), sentMs + limitMs)) {
      sentMs = this.#clock.monotonicMs();
      result = await ask();
    }
    this.#learn(failuresIn(result), sentMs, connections);
    return result;
  }

  /**
   * Whether the answer may have come while nobody could read it, or the request have gone out when its time was over,
   * because this process stood still; and it can be asked again: every request states its target.
   */
  #isUnread(failures: readonly ServerFailure[], limitAtMs: number): boolean {
    if (failures.length === 0 || !this.#health.isUp) return false;
    const lateMs = this.#clock.monotonicMs() - limitAtMs;
    return failures.some(({ kind }) =>
      kind === 'late' ? lateMs >= 0 : kind !== 'reply' && lateMs > STALL_MS,
    );
  }

  #learn(failures: readonly ServerFailure[], sentMs: number, connections: number): void {
    const failure = failures.find(({ kind }) => kind !== 'reply' && kind !== 'late');
    if (failure === undefined) this.#timeout.note(this.#clock.monotonicMs() - sentMs);
    else this.#health.missed(failure, connections);
  }

  readonly #failuresOfQuery = (answers: readonly QueryAnswer[]): readonly ServerFailure[] =>
    answers.flatMap(({ server, reply }) =>
      reply instanceof CallFailure ? [{ server, kind: reply.kind, text: reply.text }] : [],
    );
}

/** A script that writes by force states no target: asked again, it would take a lock from its next owner. */
function isReading(call: ScriptCall | null): boolean {
  return call?.script.source.startsWith('#!lua flags=no-writes') === true;
}

function failuresOf(result: Decision | ReleaseResult | StateResult): readonly ServerFailure[] {
  return 'servers' in result ? result.servers : NO_FAILURES;
}
