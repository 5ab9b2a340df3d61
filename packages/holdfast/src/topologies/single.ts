/** One server decides: a standalone Redis or Valkey, or the primary that the client itself finds. */
import {
  CallFailure,
  type Client,
  type Reply,
  type ScriptCall,
  type StopListening,
  type Wake,
} from '../clients/client.ts';
import type { Clock } from '../core/clock.ts';
import { instantNow, leaseDeadline, remainingAt } from '../core/instant.ts';
import type { ServerFailure } from '../errors.ts';
import { decodeAcquire, decodeRelease, read } from './reading.ts';
import { isCertainWord, isConflictWord, isPassingWord } from './reply-words.ts';
import { ServerClock } from './server-clock.ts';
import type {
  AcquireResult,
  HoldTerms,
  KeepResult,
  Protocol,
  ReleaseResult,
  RenewAnswer,
  RenewItem,
  Topology,
} from './topology.ts';

const KEPT: KeepResult = { is: 'kept' };
const GONE: KeepResult = { is: 'gone' };

export class SingleTopology implements Topology {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #serverClock = new ServerClock();
  #hasAnswered = false;

  constructor(client: Client, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
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

  get outage(): readonly ServerFailure[] {
    return this.#client.isConnected ? [] : [this.#failure('unreachable', 'the connection was lost')];
  }

  acquire(protocol: Protocol, terms: HoldTerms, timeoutMs: number): Promise<AcquireResult> {
    return this.#acquire(protocol, terms, timeoutMs, true);
  }

  async #acquire(
    protocol: Protocol,
    terms: HoldTerms,
    timeoutMs: number,
    mayAskAgain: boolean,
  ): Promise<AcquireResult> {
    const sentAt = instantNow(this.#clock);
    const giveUpMs = sentAt.monotonicMs + timeoutMs;
    const wantsTime = this.#serverClock.isStale(sentAt.monotonicMs);
    const call = protocol.acquire(terms, this.#serverClock.at(giveUpMs), wantsTime);
    const reply = this.#note(await this.#client.run(call, timeoutMs));
    if (reply instanceof CallFailure) return this.#failedAcquire(reply);

    const answer = decodeAcquire(protocol, reply);
    if (answer instanceof CallFailure) return this.#failedAcquire(answer);
    const heardAt = instantNow(this.#clock);
    const heardAtMs = heardAt.monotonicMs;
    if (answer.nowMs !== undefined) this.#serverClock.learn(answer.nowMs, heardAtMs);
    if (answer.is === 'HELD') return { is: 'held', ttlMs: answer.ttlMs, owner: answer.owner };
    if (answer.is === 'CONFLICT') return { is: 'conflict', found: answer.found };
    if (answer.is === 'LATE') {
      // We had its clock wrong (it jumped, or this machine slept), and this answer has put that right.
      if (mayAskAgain && heardAtMs < giveUpMs)
        return this.#acquire(protocol, terms, giveUpMs - heardAtMs, false);
      const text = `refused: it reached the server later than ${timeoutMs} ms after it was sent, or the server's clock jumped`;
      // A client that sends again after a reconnect may have had an earlier copy granted.
      return { is: 'refused', servers: [this.#failure('late', text)], isPassing: true, isCertain: false };
    }
    const deadline = leaseDeadline(sentAt, terms.leaseMs);
    if (remainingAt(deadline, heardAt) <= 0) {
      const tookMs = Math.ceil(heardAtMs - sentAt.monotonicMs);
      const text = `granted too late: the answer took ${tookMs} ms of a lease of ${terms.leaseMs} ms`;
      return { is: 'unknown', servers: [this.#failure('late', text)] };
    }
    return { is: 'granted', deadline, firstFence: answer.firstFence, heardAt };
  }

  async release(protocol: Protocol, holder: string, timeoutMs: number): Promise<ReleaseResult> {
    const reply = this.#note(await this.#client.run(protocol.release(holder), timeoutMs));
    if (reply instanceof CallFailure) {
      if (isConflictWord(reply.word)) return { is: 'gone' };
      return { is: 'failed', servers: [this.#failureOf(reply)] };
    }
    const answer = decodeRelease(protocol, reply);
    if (answer instanceof CallFailure) return { is: 'failed', servers: [this.#failureOf(answer)] };
    return answer.is === 'RELEASED' ? { is: 'released', receivers: answer.receivers } : { is: 'gone' };
  }

  async recount(protocol: Protocol, item: RenewItem, count: number, timeoutMs: number): Promise<KeepResult> {
    const call = protocol.recount(item.holder, count, item.leaseMs);
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

  async query(call: ScriptCall, timeoutMs: number): Promise<Reply | CallFailure> {
    return this.#note(await this.#client.run(call, timeoutMs));
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  #note(reply: Reply | CallFailure): Reply | CallFailure {
    if (!(reply instanceof CallFailure) || reply.kind === 'reply') this.#hasAnswered = true;
    return reply;
  }

  #failedAcquire(failure: CallFailure): AcquireResult {
    if (isConflictWord(failure.word)) return { is: 'conflict', found: failure.text };
    const servers = [this.#failureOf(failure)];
    if (failure.kind === 'unknown') return { is: 'unknown', servers };
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
