/** One server decides: a standalone Redis or Valkey, or the primary that the client itself finds. */
import {
  CallFailure,
  type Client,
  type Reply,
  type ScriptCall,
  type StopListening,
  type Wake,
} from '../clients/client.ts';
import type { ServerFailure } from '../errors.ts';
import type { Clock } from '../runtime/clock.ts';
import { type Instant, instantNow, leaseDeadline, remainingAt } from '../runtime/instant.ts';
import { inMs } from '../runtime/printable.ts';
import type { TimerQueue } from '../runtime/timer-queue.ts';
import { adminHealth } from '../scripts/generated.ts';
import type {
  AcquireResult,
  HoldTerms,
  KeepResult,
  Protocol,
  PubSub,
  QueryAnswer,
  QueryCall,
  ReleaseResult,
  ReleaseTerms,
  RenewAnswer,
  RenewItem,
  Topology,
} from './old-topology.ts';
import { LateReleases, type LateReleasesOptions } from './server/late-releases.ts';
import { decodeAcquire, decodeRelease, read } from './server/reading.ts';
import { isCertainWord, isConflictWord, isPassingWord } from './server/reply-words.ts';
import { ServerClock } from './server/server-clock.ts';

const KEPT: KeepResult = { is: 'kept' };
const GONE: KeepResult = { is: 'gone' };

const ALWAYS = (): boolean => true;
const PLAIN = (): PubSub => 'plain';

/** What a server says of itself. */
export interface Health {
  readonly runId: string;
  readonly uptimeMs: number;
}

/** For one that is a part of something larger. */
export interface SingleSettings {
  /** The server's clock, if others learn it too. */
  readonly serverClock?: ServerClock;
  /** Which channels a release is told on, at that moment. @default plain ones */
  readonly how?: () => PubSub;
}

export class SingleTopology implements Topology {
  readonly size = 1;
  readonly majority = 1;
  readonly lateReleases: LateReleases;
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #serverClock: ServerClock;
  readonly #how: () => PubSub;
  #hasAnswered = false;

  constructor(
    client: Client,
    timers: TimerQueue,
    options: LateReleasesOptions,
    { serverClock = new ServerClock(), how = PLAIN }: SingleSettings = {},
  ) {
    this.#client = client;
    this.#serverClock = serverClock;
    this.#how = how;
    this.#clock = timers.clock;
    this.lateReleases = new LateReleases(timers, this, options);
  }

  get description(): string {
    return this.#client.description;
  }

  get keyPrefix(): string {
    return this.#client.keyPrefix;
  }

  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  outageOf(): readonly ServerFailure[] {
    return this.#client.isConnected ? [] : [this.#failure('unreachable', 'the connection was lost')];
  }

  /**
   * `isWanted` is asked before a request goes out that did not go out at once: a release may have overtaken it.
   * `sentAt` is no later than now.
   */
  acquire(
    protocol: Protocol,
    terms: HoldTerms,
    timeoutMs: number,
    isWanted: () => boolean = ALWAYS,
    sentAt: Instant = instantNow(this.#clock),
  ): Promise<AcquireResult> {
    return this.#acquire(protocol, terms, timeoutMs, isWanted, sentAt, true);
  }

  async #acquire(
    protocol: Protocol,
    terms: HoldTerms,
    timeoutMs: number,
    isWanted: () => boolean,
    sentAt: Instant,
    mayAskAgain: boolean,
  ): Promise<AcquireResult> {
    const giveUpMs = sentAt.monotonicMs + timeoutMs;
    const wantsTime = this.#serverClock.isStale(sentAt.monotonicMs);
    const notAfterMs = this.#serverClock.at(giveUpMs);
    const stated = protocol.acquire(terms, notAfterMs, wantsTime);
    const call = isWanted === ALWAYS ? stated : wantedCall(stated, isWanted);
    const reply = this.#note(await this.#client.run(call, timeoutMs));
    if (reply instanceof CallFailure) return this.#failedAcquire(protocol, reply, notAfterMs === 0);

    const answer = decodeAcquire(protocol, reply);
    if (answer instanceof CallFailure) return this.#failedAcquire(protocol, answer, notAfterMs === 0);
    const heardAt = instantNow(this.#clock);
    const heardAtMs = heardAt.monotonicMs;
    if (answer.nowMs !== undefined) this.#serverClock.learn(answer.nowMs, heardAtMs);
    if (answer.is === 'HELD') {
      return { is: 'held', ttlMs: answer.ttlMs, owner: answer.owner, isSplit: false };
    }
    if (answer.is === 'CONFLICT') return { is: 'conflict', found: answer.found };
    if (answer.is === 'LATE') {
      // We had its clock wrong (it jumped, or this machine slept), and this answer has put that right.
      if (heardAtMs < giveUpMs && mayAskAgain && isWanted())
        return this.#acquire(protocol, terms, giveUpMs - heardAtMs, isWanted, heardAt, false);
      const text = `refused: it reached the server later than ${inMs(timeoutMs)} after it was sent, or the server's clock jumped`;
      // A client that sends again after a reconnect may have had an earlier copy granted.
      return { is: 'refused', servers: [this.#failure('late', text)], isPassing: true, isCertain: false };
    }
    const deadline = leaseDeadline(sentAt, terms.leaseMs);
    if (remainingAt(deadline, heardAt) <= 0) {
      const tookMs = Math.ceil(heardAtMs - sentAt.monotonicMs);
      const text = `granted too late: the answer took ${inMs(tookMs)} of a lease of ${inMs(terms.leaseMs)}`;
      return { is: 'unknown', servers: [this.#failure('late', text)] };
    }
    const { firstFence, fences = terms.fences } = answer;
    return { is: 'granted', deadline, firstFence, fences, heardAt };
  }

  async release(protocol: Protocol, terms: ReleaseTerms, timeoutMs: number): Promise<ReleaseResult> {
    const call = protocol.release(terms.holder, terms.isQuiet === true ? 'nobody' : this.#how());
    const reply = this.#note(await this.#client.run(call, timeoutMs));
    if (reply instanceof CallFailure) {
      if (isConflictWord(reply.word)) return { is: 'gone' };
      return { is: 'failed', servers: [this.#failureOf(reply)] };
    }
    const answer = decodeRelease(protocol, reply);
    if (answer instanceof CallFailure) return { is: 'failed', servers: [this.#failureOf(answer)] };
    return answer.is === 'RELEASED' ? { is: 'released', receivers: answer.receivers } : { is: 'gone' };
  }

  async recount(protocol: Protocol, item: RenewItem, count: number, timeoutMs: number): Promise<KeepResult> {
    const call = protocol.recount(item, count);
    const reply = this.#note(await this.#client.run(call, timeoutMs));
    if (reply instanceof CallFailure) return this.#failedKeep(reply);
    const isOurs = read(reply, () => protocol.decodeRecount(reply));
    if (isOurs instanceof CallFailure) return this.#failedKeep(isOurs);
    return isOurs ? KEPT : GONE;
  }

  async renew(items: readonly RenewItem[], timeoutMs: number): Promise<readonly KeepResult[]> {
    const renewal = items[0]?.protocol.renewal;
    if (renewal === undefined) return [];
    const reply = this.#note(await this.#client.run(renewal.call(items), timeoutMs));
    const answers =
      reply instanceof CallFailure ? reply : read(reply, () => renewal.decode(reply, items.length));
    if (answers instanceof CallFailure) {
      const failed = this.#failedKeep(answers);
      return items.map(() => failed);
    }
    return answers.map((answer) => this.#keepResult(answer));
  }

  listen(channel: string, wake: Wake, timeoutMs: number): Promise<StopListening | CallFailure> {
    return this.#client.listen(channel, wake, timeoutMs);
  }

  async query(callFor: QueryCall, timeoutMs: number): Promise<readonly QueryAnswer[]> {
    const call = callFor(0, this.#how());
    if (call === null) return [];
    const reply = this.#note(await this.#client.run(call, timeoutMs));
    return [{ index: 0, server: this.description, reply }];
  }

  /** Kept when the fence counter is at the end of the block and the hold is ours here: see the protocol. */
  async raise(
    protocol: Protocol,
    holder: string,
    lastFence: number,
    isGiven: boolean,
    timeoutMs: number,
  ): Promise<KeepResult> {
    const call = protocol.raise(holder, lastFence, isGiven);
    const reply = this.#note(await this.#client.run(call, timeoutMs));
    if (reply instanceof CallFailure) return this.#failedKeep(reply);
    const isOurs = read(reply, () => protocol.decodeRaise(reply));
    if (isOurs instanceof CallFailure) return this.#failedKeep(isOurs);
    return isOurs ? KEPT : GONE;
  }

  /** Which server this is and how long it runs; its clock is learnt on the way. */
  async health(timeoutMs: number): Promise<Health | ServerFailure> {
    const reply = this.#note(await this.#client.run(adminHealth.call(), timeoutMs));
    if (reply instanceof CallFailure) return this.#failureOf(reply);
    const answer = read(reply, () => adminHealth.decode(reply));
    if (answer instanceof CallFailure) return this.#failureOf(answer);
    this.#serverClock.learn(answer.nowMs, this.#clock.monotonicMs());
    return { runId: answer.runId, uptimeMs: Number(answer.uptimeS) * 1_000 };
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  #note(reply: Reply | CallFailure): Reply | CallFailure {
    if (!(reply instanceof CallFailure) || reply.kind === 'reply') this.#hasAnswered = true;
    return reply;
  }

  #failedAcquire(protocol: Protocol, failure: CallFailure, isUnbounded: boolean): AcquireResult {
    if (isConflictWord(failure.word)) return wrongType(protocol);
    const servers = [this.#failureOf(failure)];
    if (failure.kind === 'unknown') return { is: 'unknown', servers, isUnbounded };
    const isPassing = failure.kind === 'unreachable' || isPassingWord(failure.word);
    const isCertain = failure.kind !== 'reply' || isCertainWord(failure.word);
    return { is: 'refused', servers, isPassing, isCertain };
  }

  /** A key of another type is as gone as no key. */
  #failedKeep(failure: CallFailure): KeepResult {
    if (isConflictWord(failure.word)) return GONE;
    return { is: 'failed', servers: [this.#failureOf(failure)] };
  }

  #keepResult(answer: RenewAnswer): KeepResult {
    if (answer === 'RENEWED') return KEPT;
    if (answer === 'GONE') return GONE;
    return { is: 'failed', servers: [this.#failure('reply', 'the server refused to read the key')] };
  }

  #failureOf(failure: CallFailure): ServerFailure {
    return this.#failure(failure.kind, failure.text);
  }

  #failure(kind: ServerFailure['kind'], text: string): ServerFailure {
    return { server: this.#client.description, kind, text };
  }
}

/** The scripts say themselves what stands under a lock's or a mutex's own key. What is left is a lock's second key. */
function wrongType({ isFenced }: Protocol): AcquireResult {
  if (!isFenced) return { is: 'conflict', found: 'a value of another type' };
  return { is: 'conflict', found: 'no number that can grow', isCounter: true };
}

/** Not by `...`: of the 4 µs that a vote costs us, it would be one. */
function wantedCall({ script, keys, args }: ScriptCall, isWanted: () => boolean): ScriptCall {
  return { isWanted, script, keys, args };
}
