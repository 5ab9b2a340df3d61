/** One of several independent servers: what it is asked, for how long, and what it may still owe an answer to. */
import {
  CallFailure,
  type Client,
  type ScriptCall,
  type StopListening,
  type Wake,
} from '../../clients/client.ts';
import type { ServerFailure } from '../../errors.ts';
import type { Instant } from '../../runtime/instant.ts';
import type { TimerQueue } from '../../runtime/timer-queue.ts';
import {
  type AcquireResult,
  type HoldTerms,
  type KeepResult,
  NO_STRAYS,
  type Protocol,
  type QueryAnswer,
  type QueryCall,
  type ReleaseResult,
  type ReleaseTerms,
  type RenewItem,
  type Strays,
} from '../old-topology.ts';
import { ServerClock } from '../server/server-clock.ts';
import { SingleTopology } from '../single.ts';
import { NodeStanding, type StandingOptions } from './node-health.ts';
import { NodePace } from './node-timeout.ts';

export interface QuorumOptions extends StandingOptions {
  readonly leaseMs: number;
  /** The deadline of one server's answer; null: by the lease and by how fast it is. */
  readonly nodeTimeoutMs: number | null;
  /** How long a server must have run before it votes; null: the longest lease in use. */
  readonly restartGuardMs: number | null;
}

/** A deadline that we notice this much too late has passed while this process stood still. */
const STALL_MS = 5;

/** How old what we know of its clock may get: all servers are told one time, which must be near theirs. */
const SAMPLE_MS_MAX = 1_000;

export class QuorumNode {
  readonly lateReleases: SingleTopology['lateReleases'];
  /** Whether it can be asked, and its vote counts. */
  readonly standing: NodeStanding;
  readonly clock: ServerClock = new ServerClock(SAMPLE_MS_MAX);
  readonly #client: Client;
  readonly #single: SingleTopology;
  readonly #timers: TimerQueue;
  readonly #pace: NodePace;
  /**
   * Holders that it was asked for and has not released, with the requests of each that went unanswered. It is not
   * called for others while it is away.
   */
  readonly #holders = new Map<string, Strays>();

  constructor(client: Client, timers: TimerQueue, options: QuorumOptions) {
    this.#client = client;
    this.#timers = timers;
    this.#single = new SingleTopology(client, timers, options, { serverClock: this.clock });
    this.lateReleases = this.#single.lateReleases;
    this.#pace = new NodePace(options.nodeTimeoutMs);
    this.standing = new NodeStanding(client, this.#single, timers, this.#pace, options);
  }

  get description(): string {
    return this.#client.description;
  }

  get isConnected(): boolean {
    return this.#client.isConnected;
  }

  /** `sentAt` is one moment for all who are asked at once, before the first of them is. */
  async acquire(
    protocol: Protocol,
    terms: HoldTerms,
    timeoutMs: number,
    sentAt: Instant,
  ): Promise<AcquireResult> {
    const { clock } = this.#timers;
    const { connections } = this.#client;
    const { holder } = terms;
    const limitMs = this.#pace.timeoutMs(terms.leaseMs, timeoutMs);
    if (!this.#holders.has(holder)) this.#holders.set(holder, NO_STRAYS);
    // What has been given up meanwhile must not be asked for again: its release has been sent.
    const isWanted = (): boolean => this.#holders.has(holder);
    let sentMs = sentAt.monotonicMs;
    let result = await this.#single.acquire(protocol, terms, limitMs, isWanted, sentAt);
    if (result.is === 'granted') {
      this.#pace.note(result.heardAt.monotonicMs - sentMs);
      return result;
    }
    if (this.#isUnread(failuresOfAcquire(result), sentMs + limitMs) && isWanted()) {
      sentMs = clock.monotonicMs();
      result = await this.#single.acquire(protocol, terms, limitMs, isWanted);
    }
    this.#learn(failuresOfAcquire(result), sentMs, connections);
    const isOpen = result.is === 'unknown' || (result.is === 'refused' && !result.isCertain);
    if (isOpen) this.#noteStray(protocol, terms, limitMs);
    return result;
  }

  /** It may have been granted, or be granted yet, on a connection that is gone: behind a release that was sent later. */
  #noteStray(protocol: Protocol, { holder, leaseMs }: HoldTerms, limitMs: number): void {
    const known = this.#holders.get(holder);
    const untilMs = this.#timers.clock.monotonicMs() + limitMs;
    const strays = { count: (known?.count ?? 0) + 1, untilMs, leaseMs };
    if (known !== undefined) this.#holders.set(holder, strays);
    else this.lateReleases.add(protocol, { holder, leaseMs, isQuiet: true }, strays);
  }

  raise(
    protocol: Protocol,
    { holder, leaseMs }: HoldTerms,
    lastFence: number,
    isGiven: boolean,
    timeoutMs: number,
  ): Promise<KeepResult> {
    const limitMs = this.#pace.timeoutMs(leaseMs, timeoutMs);
    const ask = (): Promise<KeepResult> => this.#single.raise(protocol, holder, lastFence, isGiven, limitMs);
    return this.#timed(limitMs, ask, failuresOfKeep);
  }

  /** One that cannot be asked now gets it when it is back, and costs this caller nothing. */
  async release(protocol: Protocol, terms: ReleaseTerms, timeoutMs: number): Promise<ReleaseResult> {
    const strays = this.#forget(terms.holder);
    // Asked before sending: whatever arrives behind this release is not undone by it.
    const isOpen = strays !== undefined && this.#timers.clock.monotonicMs() < strays.untilMs;
    const { absence } = this.standing;
    const limitMs = this.#pace.timeoutMs(terms.leaseMs, timeoutMs);
    let asked = 0;
    const ask = (): Promise<ReleaseResult> => {
      asked += 1;
      return this.#single.release(protocol, terms, limitMs);
    };
    let result: ReleaseResult =
      absence === null
        ? await this.#timed(limitMs, ask, failuresOfKeep)
        : { is: 'failed', servers: [absence] };
    // Asked twice, it is the first that has released it.
    if (asked > 1 && result.is === 'gone') result = { is: 'released', receivers: 0 };
    if (strays !== undefined && (result.is === 'failed' || isOpen)) {
      this.lateReleases.add(protocol, { ...terms, isQuiet: result.is !== 'failed' }, strays);
    }
    return result;
  }

  #forget(holder: string): Strays | undefined {
    const strays = this.#holders.get(holder);
    this.#holders.delete(holder);
    return strays;
  }

  /** Takes back a vote, or a hold that is given up, whatever became of the request for it. */
  abandon(protocol: Protocol, terms: ReleaseTerms): void {
    const strays = this.#forget(terms.holder);
    if (strays !== undefined) this.lateReleases.add(protocol, terms, strays);
  }

  recount(protocol: Protocol, item: RenewItem, count: number, timeoutMs: number): Promise<KeepResult> {
    const limitMs = this.#pace.timeoutMs(item.leaseMs, timeoutMs);
    const ask = (): Promise<KeepResult> => this.#single.recount(protocol, item, count, limitMs);
    return this.#timed(limitMs, ask, failuresOfKeep);
  }

  async renew(items: readonly RenewItem[], timeoutMs: number): Promise<readonly KeepResult[]> {
    const limitMs = this.#pace.timeoutMs(Math.min(...items.map((item) => item.leaseMs)), timeoutMs);
    const ask = (): Promise<readonly KeepResult[]> => this.#single.renew(items, limitMs);
    const answers = await this.#timed(limitMs, ask, ([first]) => (first ? failuresOfKeep(first) : []));
    for (const [i, { holder }] of items.entries()) {
      // What it has not it need not release, unless a request for it may still be on its way.
      const isGone = answers[i]?.is === 'gone' && this.#holders.get(holder) === NO_STRAYS;
      if (isGone) this.#holders.delete(holder);
    }
    return answers;
  }

  listen(channel: string, wake: Wake, timeoutMs: number): Promise<StopListening | CallFailure> {
    return this.#single.listen(channel, wake, timeoutMs);
  }

  async query(callFor: QueryCall, timeoutMs: number): Promise<readonly QueryAnswer[]> {
    const { absence } = this.standing;
    if (absence === null) {
      const ask = (): Promise<readonly QueryAnswer[]> => this.#single.query(callFor, timeoutMs);
      return this.#timed(timeoutMs, ask, this.#failuresOfQuery, isReading(callFor(0, 'plain')));
    }
    const reply = new CallFailure('unreachable', absence.text);
    return callFor(0, 'plain') === null ? [] : [{ index: 0, server: this.description, reply }];
  }

  close(): Promise<void> {
    return this.#single.close();
  }

  /** Asks, and learns from what comes of it. */
  async #timed<Result>(
    limitMs: number,
    ask: () => Promise<Result>,
    failuresOf: (result: Result) => readonly ServerFailure[],
    mayAskAgain = true,
  ): Promise<Result> {
    const { clock } = this.#timers;
    const { connections } = this.#client;
    let sentMs = clock.monotonicMs();
    let result = await ask();
    if (mayAskAgain && this.#isUnread(failuresOf(result), sentMs + limitMs)) {
      sentMs = clock.monotonicMs();
      result = await ask();
    }
    this.#learn(failuresOf(result), sentMs, connections);
    return result;
  }

  /**
   * Whether the answer may have come while nobody could read it, or the request have gone out when its time was over,
   * because this process stood still; and it can be asked again: every request states its target.
   */
  #isUnread(failures: readonly ServerFailure[], limitAtMs: number): boolean {
    if (failures.length === 0 || !this.standing.isUp) return false;
    const lateMs = this.#timers.clock.monotonicMs() - limitAtMs;
    return failures.some(({ kind }) =>
      kind === 'late' ? lateMs >= 0 : kind !== 'reply' && lateMs > STALL_MS,
    );
  }

  /** From an answer how fast it is, or from its absence that it is down. */
  #learn(failures: readonly ServerFailure[], sentMs: number, connections: number): void {
    const failure = failures.find(({ kind }) => kind !== 'reply' && kind !== 'late');
    if (failure === undefined) this.#pace.note(this.#timers.clock.monotonicMs() - sentMs);
    else this.standing.missed(failure, connections);
  }

  readonly #failuresOfQuery = (answers: readonly QueryAnswer[]): readonly ServerFailure[] =>
    answers.flatMap(({ reply }) =>
      reply instanceof CallFailure ? [{ server: this.description, kind: reply.kind, text: reply.text }] : [],
    );
}

const NO_FAILURES: readonly ServerFailure[] = [];

/** A script that writes by force states no target: asked again, it would take a lock from its next owner. */
function isReading(call: ScriptCall | null): boolean {
  return call?.script.source.startsWith('#!lua flags=no-writes') === true;
}

function failuresOfAcquire(result: AcquireResult): readonly ServerFailure[] {
  return result.is === 'refused' || result.is === 'unknown' ? result.servers : NO_FAILURES;
}

function failuresOfKeep(result: KeepResult | ReleaseResult): readonly ServerFailure[] {
  return result.is === 'failed' ? result.servers : NO_FAILURES;
}
