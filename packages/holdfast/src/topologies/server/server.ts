/**
 * One Redis or Valkey server, asked over one client. Not a topology: a topology has one of these or several.
 *
 * In this folder: the server, the same with replicas that must confirm (`confirmed.ts`), what it may have done
 * without our knowing (`holders.ts`), its clock, and the reading of its answers. Only `topologies/` and those who read
 * answers themselves (`admin/`, `primitives/once/`, `primitives/schedule/`) import from here.
 */
import { CallFailure, type Client, type Reply, type ScriptCall } from '../../clients/client.ts';
import type { ServerFailure } from '../../errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type Instant, instantNow, leaseDeadline, remainingAt } from '../../runtime/instant.ts';
import { inMs } from '../../runtime/printable.ts';
import { adminHealth } from '../../scripts/generated.ts';
import type { HoldTerms, Protocol, PubSubMode, StateAnswer, Statement } from '../protocol.ts';
import type {
  Conflict,
  QueryAnswer,
  QueryCall,
  ReleaseResult,
  ReleaseTerms,
  StateResult,
} from '../topology.ts';
import type { Decider, Decision } from './decision.ts';
import { read } from './reading.ts';
import { isCertainWord, isConflictWord, isPassingWord } from './reply-words.ts';
import { ServerClock } from './server-clock.ts';

export const KEPT: StateResult = { is: 'kept' };
export const GONE: StateResult = { is: 'gone' };

const NO_FAILURES: readonly ServerFailure[] = [];
const PLAIN = (): PubSubMode => 'plain';

/** What a server says of itself. */
export interface ServerHealth {
  readonly runId: string;
  readonly uptimeMs: number;
}

/** For a server that is a part of something larger. */
export interface ServerSettings {
  /** The clock of the server, if other objects learn or read the same one. @default its own */
  readonly serverClock?: ServerClock;
  /** Which channels a release is told on, at that moment. @default plain ones */
  readonly pubSubMode?: () => PubSubMode;
  /** Whether the server keeps lines of waiters. @default true */
  readonly hasLine?: boolean;
}

export class Server implements Decider {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #serverClock: ServerClock;
  readonly #pubSubMode: () => PubSubMode;
  readonly #hasLine: boolean;
  #hasAnswered = false;

  constructor(client: Client, clock: Clock, settings: ServerSettings = {}) {
    this.#client = client;
    this.#clock = clock;
    this.#serverClock = settings.serverClock ?? new ServerClock();
    this.#pubSubMode = settings.pubSubMode ?? PLAIN;
    this.#hasLine = settings.hasLine ?? true;
  }

  get description(): string {
    return this.#client.description;
  }

  /** Whether the server has ever said anything, an error included. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** Why the server cannot be asked now; empty while it is connected. */
  get outage(): readonly ServerFailure[] {
    if (this.#client.isConnected) return NO_FAILURES;
    return [this.failure('unreachable', 'the connection was lost')];
  }

  acquire(
    protocol: Protocol,
    terms: HoldTerms,
    timeoutMs: number,
    isWanted?: () => boolean,
    sentAt: Instant = instantNow(this.#clock),
  ): Promise<Decision> {
    return this.#acquire(protocol, terms, timeoutMs, isWanted, sentAt, true);
  }

  async #acquire(
    protocol: Protocol,
    terms: HoldTerms,
    timeoutMs: number,
    isWanted: (() => boolean) | undefined,
    sentAt: Instant,
    mayAskAgain: boolean,
  ): Promise<Decision> {
    const giveUpMs = sentAt.monotonicMs + timeoutMs;
    const notAfterMs = this.#serverClock.at(giveUpMs);
    const wantsTime = this.#serverClock.isStale(sentAt.monotonicMs);
    const stated = protocol.acquire(terms, { notAfterMs, wantsTime, hasLine: this.#hasLine });
    const call = isWanted === undefined ? stated : wantedCall(stated, isWanted);
    const reply = this.#note(await this.#client.run(call, timeoutMs));
    const answer = reply instanceof CallFailure ? reply : read(reply, () => protocol.readAcquire(reply));
    if (answer instanceof CallFailure) return this.#failedAcquire(protocol, answer, notAfterMs !== 0);

    const heardAt = instantNow(this.#clock);
    const heardAtMs = heardAt.monotonicMs;
    if (answer.nowMs !== undefined) this.#serverClock.learn(answer.nowMs, heardAtMs);
    if (answer.is === 'HELD') {
      const { ttlMs, owner, line } = answer;
      const place = line !== undefined && this.#hasLine ? { line } : {};
      return { is: 'held', ttlMs, owner, isSplit: false, ...place };
    }
    if (answer.is === 'CONFLICT') return { is: 'conflict', found: answer.found };
    if (answer.is === 'SETTLED') return { is: 'settled', answer: answer.answer };
    if (answer.is === 'LATE') {
      // We had the server's clock wrong (it jumped, or this machine slept), and this answer has put that right.
      if (heardAtMs < giveUpMs && mayAskAgain && isWanted?.() !== false)
        return this.#acquire(protocol, terms, giveUpMs - heardAtMs, isWanted, heardAt, false);
      const text = `refused: it reached the server later than ${inMs(timeoutMs)} after it was sent, or the server's clock jumped`;
      // A client that sends again after a reconnect may have had an earlier copy granted.
      return { is: 'unanswered', servers: [this.failure('late', text)], canRetry: true, isBounded: true };
    }
    const deadline = leaseDeadline(sentAt, terms.leaseMs);
    if (remainingAt(deadline, heardAt) <= 0) {
      const tookMs = Math.ceil(heardAtMs - sentAt.monotonicMs);
      const text = `granted too late: the answer took ${inMs(tookMs)} of a lease of ${inMs(terms.leaseMs)}`;
      return { is: 'void', servers: [this.failure('late', text)], canRetry: true };
    }
    const { firstFence, fences = terms.fences, tickets = 0, attempt } = answer;
    const counted = attempt === undefined ? {} : { attempt };
    return { is: 'granted', deadline, firstFence, fences, tickets, heardAt, ...counted };
  }

  async release(protocol: Protocol, terms: ReleaseTerms, timeoutMs: number): Promise<ReleaseResult> {
    const mode = terms.isQuiet === true ? 'nobody' : this.#pubSubMode();
    const hasLine = this.#hasLine && terms.isOwnKeyOnly !== true;
    const call = protocol.release(terms.holder, mode, hasLine, terms.wasServed === true);
    const reply = this.#note(await this.#client.run(call, timeoutMs));
    const answer = reply instanceof CallFailure ? reply : read(reply, () => protocol.readRelease(reply));
    if (answer instanceof CallFailure) {
      // A key of another type is as gone as no key.
      if (isConflictWord(answer.word)) return { is: 'gone' };
      return { is: 'failed', servers: [this.failureOf(answer)] };
    }
    // A ticket that left proves nothing of acquires that had no answer: one of them may still come and make another.
    return answer.is === 'RELEASED' ? { is: 'released', receivers: answer.receivers } : { is: 'gone' };
  }

  async state(statements: readonly Statement[], timeoutMs: number): Promise<readonly StateResult[]> {
    const batch = statements[0]?.batch;
    if (batch === undefined) return [];
    const reply = this.#note(await this.#client.run(batch.call(statements), timeoutMs));
    const answers =
      reply instanceof CallFailure ? reply : read(reply, () => batch.read(reply, statements.length));
    if (!(answers instanceof CallFailure)) return answers.map((answer) => this.#stateResult(answer));
    // A key of another type is as gone as no key.
    const failed: StateResult = isConflictWord(answers.word)
      ? GONE
      : { is: 'failed', servers: [this.failureOf(answers)] };
    return statements.map(() => failed);
  }

  async query(callFor: QueryCall, timeoutMs: number): Promise<readonly QueryAnswer[]> {
    const call = callFor(0, this.#pubSubMode());
    if (call === null) return [];
    const reply = this.#note(await this.#client.run(call, timeoutMs));
    return [{ index: 0, server: this.description, reply }];
  }

  /** Which server this is and how long it runs; its clock is learnt on the way. */
  async health(timeoutMs: number): Promise<ServerHealth | ServerFailure> {
    const reply = this.#note(await this.#client.run(adminHealth.call(), timeoutMs));
    const answer = reply instanceof CallFailure ? reply : read(reply, () => adminHealth.decode(reply));
    if (answer instanceof CallFailure) return this.failureOf(answer);
    this.#serverClock.learn(answer.nowMs, this.#clock.monotonicMs());
    return { runId: answer.runId, uptimeMs: Number(answer.uptimeS) * 1_000 };
  }

  protected failureOf(failure: CallFailure): ServerFailure {
    return this.failure(failure.kind, failure.text);
  }

  protected failure(kind: ServerFailure['kind'], text: string): ServerFailure {
    return { server: this.description, kind, text };
  }

  #note(reply: Reply | CallFailure): Reply | CallFailure {
    if (!(reply instanceof CallFailure) || reply.kind === 'reply') this.#hasAnswered = true;
    return reply;
  }

  #failedAcquire(protocol: Protocol, failure: CallFailure, isBounded: boolean): Decision {
    if (isConflictWord(failure.word)) return wrongType(protocol);
    const servers = [this.failureOf(failure)];
    if (failure.kind === 'unknown') return { is: 'unanswered', servers, canRetry: true, isBounded };
    const canRetry = failure.kind === 'unreachable' || isPassingWord(failure.word);
    const isCertain = failure.kind !== 'reply' || isCertainWord(failure.word);
    if (isCertain) return { is: 'refused', servers, canRetry };
    // Something answered, perhaps a proxy. A copy of this call may still be on its way, for as long as a call may take.
    return { is: 'unanswered', servers, canRetry, isBounded: true };
  }

  #stateResult(answer: StateAnswer): StateResult {
    if (answer === 'KEPT') return KEPT;
    if (answer === 'GONE') return GONE;
    if (answer !== 'FAILED') return { is: 'gone', words: answer.words };
    return { is: 'failed', servers: [this.failure('reply', 'the server refused to read the key')] };
  }
}

/** For WRONGTYPE. Scripts answer CONFLICT about the lock's own key, so with fences it is their counter. */
function wrongType({ fencing }: Protocol): Conflict {
  if (fencing === undefined) return { is: 'conflict', found: 'a value of another type' };
  return { is: 'conflict', found: 'no number that can grow', isCounter: true };
}

/** Field by field: a vote costs us 4 µs, and a copy by `...` would be one of them. */
function wantedCall({ script, keys, args }: ScriptCall, isWanted: () => boolean): ScriptCall {
  return { isWanted, script, keys, args };
}
