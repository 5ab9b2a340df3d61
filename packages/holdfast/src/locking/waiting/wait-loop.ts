/**
 * Waiting for something that servers give out: attempt, listen, sleep, attempt again, or give up. One loop works for
 * everybody who waits for that thing in this process, and returns what it was granted.
 *
 * A round begins with an attempt. What follows depends on the answer:
 * - granted: the loop ends with the grant.
 * - held by somebody: subscribe, and attempt again once the subscription is confirmed: whatever was released before is
 *   seen by that attempt, whatever is released after is heard. Then sleep until a message, the end of the lease that
 *   the server told, or the cap.
 * - held by nobody, because votes were split: sleep for a random while, which settles who comes first.
 * - failed: back off, for as long as an outage may last.
 * - a conflict, a failure that will not pass, a server that never answered, an outage that is too long: give up.
 *
 * A message is a hint. It ends a sleep and decides nothing. A message that comes while an attempt is under way is kept,
 * so that an answer `held` is followed by another attempt at once. The subscription outlives a round and the loop's
 * run, until `stop`: who waits behind a hold of this process keeps listening.
 */
import { CallFailure, type StopListening } from '../../clients/client.ts';
import type { ResolvedLocksOptions } from '../../options/options.ts';
import { Backoff } from '../../runtime/backoff.ts';
import { detached } from '../../runtime/detached.ts';
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import { sleep } from '../../runtime/timers.ts';
import { type Subject, telemetry, type WakeReason } from '../../telemetry/channels.ts';
import type { Topology } from '../../topologies/topology.ts';
import { type Broken, type Failed, type Held, isUnanswered, type Refusal } from '../failures.ts';

/**
 * The longest sleep, because a message may be lost. Each sleep is shorter by a random share, up to a quarter, so that
 * processes do not attempt in step.
 */
const SLEEP_MS_MAX = 5_000;

/** A key vanishes a little after its time: asking sooner costs an attempt for nothing. */
const EXPIRY_SLACK_MS = 2;

/** Those for whom a loop waits. */
export interface WaitParty {
  /** Nobody waits any more. */
  readonly isOver: boolean;
  /** Somebody else holds the lock: callers who only tried, or whose time is over, leave. */
  held(refusal: Held): void;
  /** The attempt failed: callers who do not wait for the end of an outage leave. Returns how long the loop may sleep. */
  failed(refusal: Failed): number;
  /** Waiting makes no sense: everybody leaves. */
  giveUp(refusal: Refusal | Broken): void;
}

export interface WaitLoopServices {
  readonly timers: TimerQueue;
  readonly topology: Topology;
  readonly options: ResolvedLocksOptions;
}

/** What is waited for. */
export interface Awaited<Grant> {
  readonly subject: Subject & { readonly channel: string };
  attempt(): Promise<Grant | Refusal | Broken>;
}

export class WaitLoop<Grant extends { readonly is: 'granted' }> {
  readonly #services: WaitLoopServices;
  readonly #party: WaitParty;
  readonly #awaited: Awaited<Grant>;
  #isAttempting = false;
  #outageSinceMs: number | null = null;
  #splitVotes = 0;
  #backoff: Backoff | null = null;
  #listenBackoff: Backoff | null = null;
  #stopListening: StopListening | null = null;
  /** Counts the stops: a subscription that is confirmed after a stop is undone. */
  #stops = 0;
  /** What was heard since the last attempt was sent. */
  #heard: WakeReason | null = null;
  #endSleep: ((reason: WakeReason | null) => void) | null = null;

  constructor(services: WaitLoopServices, party: WaitParty, awaited: Awaited<Grant>) {
    this.#services = services;
    this.#party = party;
    this.#awaited = awaited;
  }

  get isAttempting(): boolean {
    return this.#isAttempting;
  }

  get isListening(): boolean {
    return this.#stopListening !== null;
  }

  /**
   * Runs until something is granted, or until nobody waits any more (null). Goes on from the refusal of an attempt that
   * was made before, if there was one; otherwise the first attempt is sent after `pauseMs`.
   */
  async run(last: Refusal | Broken | null, pauseMs: number): Promise<Grant | null> {
    this.#outageSinceMs = null;
    this.#splitVotes = 0;
    this.#backoff = null;
    if (last !== null || pauseMs > 0) return detached(() => this.#rounds(last, pauseMs));
    // The first attempt runs in the async context of its caller; what is done for everybody runs in nobody's.
    const result = await this.#attempt();
    return result.is === 'granted' ? result : detached(() => this.#rounds(result, 0));
  }

  async #rounds(last: Refusal | Broken | null, pauseMs: number): Promise<Grant | null> {
    // Slept through: the message of our own release must not cut short the time that is left to other processes.
    if (pauseMs > 0) await sleep(this.#services.timers, pauseMs);
    for (let refusal = last; ; ) {
      if (refusal !== null) await this.#waitAfter(refusal);
      if (this.#party.isOver) return null;
      const result = await this.#attempt();
      if (result.is === 'granted') return result;
      refusal = result;
    }
  }

  /** A message on the channel; null: messages may have been missed. */
  hear(message: string | null): void {
    const reason = message === null ? 'resync' : 'message';
    if (this.#endSleep === null) this.#heard = reason;
    else this.#endSleep(reason);
  }

  /** Ends the sleep and the subscription. A subscription that is not confirmed yet is undone when it is. */
  stop(): void {
    this.#stops += 1;
    this.#heard = null;
    this.#stopListening?.();
    this.#stopListening = null;
    this.#endSleep?.(null);
  }

  async #attempt(): Promise<Grant | Refusal | Broken> {
    // The attempt that is about to be sent will see for itself what was heard so far.
    this.#heard = null;
    this.#isAttempting = true;
    const result = await this.#awaited.attempt();
    this.#isAttempting = false;
    return result;
  }

  /** What follows a refusal: a wait of its own kind, or the end. */
  #waitAfter(refusal: Refusal | Broken): Promise<void> | void {
    if (refusal.is === 'conflict' || refusal.is === 'broken') return this.#party.giveUp(refusal);
    if (refusal.is === 'failed') return this.#waitAfterFailure(refusal);
    this.#outageSinceMs = null;
    this.#party.held(refusal);
    if (this.#party.isOver) return;
    return refusal.isSplit ? this.#waitAfterSplitVotes(refusal) : this.#waitForRelease(refusal);
  }

  async #waitForRelease({ ttlMs }: Held): Promise<void> {
    this.#backoff = null;
    this.#splitVotes = 0;
    const { random } = this.#services.options;
    let capMs = SLEEP_MS_MAX * (1 - random.fraction() / 4);
    if (!this.isListening) {
      const failure = await this.#listen();
      if (failure === null) this.#listenBackoff = null;
      // Confirmed: the next attempt looks again.
      if (failure === null || this.#party.isOver) return;
      // Not subscribed for now. An error reply will be the same next time; after any other failure try again soon.
      this.#listenBackoff ??= new Backoff(random);
      if (failure.kind !== 'reply') capMs = this.#listenBackoff.nextMs();
    }
    await this.#sleepUntilWoken(ttlMs < 0 ? capMs : Math.min(capMs, ttlMs + EXPIRY_SLACK_MS));
  }

  async #waitAfterSplitVotes(split: Held): Promise<void> {
    const { random, splitVotesMax } = this.#services.options;
    this.#splitVotes += 1;
    if (this.#splitVotes > splitVotesMax) return this.#party.giveUp(split);
    this.#backoff ??= new Backoff(random);
    await this.#sleepUntilWoken(this.#backoff.nextMs());
  }

  async #waitAfterFailure(failed: Failed): Promise<void> {
    const { timers, topology, options } = this.#services;
    const nowMs = timers.clock.monotonicMs();
    this.#outageSinceMs ??= nowMs;
    // A server that has never been there is a wrong address more often than an outage: say so at once.
    const wasNeverReached = !isUnanswered(failed) && !topology.hasAnswered;
    const isOver = nowMs - this.#outageSinceMs >= options.outageMs;
    if (!failed.canRetry || wasNeverReached || isOver) return this.#party.giveUp(failed);
    const leftMs = this.#party.failed(failed);
    if (this.#party.isOver) return;
    this.#backoff ??= new Backoff(options.random);
    await this.#sleepUntilWoken(Math.min(this.#backoff.nextMs(), leftMs));
  }

  /** Subscribes. Null when the server has confirmed, otherwise why it did not. */
  async #listen(): Promise<CallFailure | null> {
    const { topology, options } = this.#services;
    const stops = this.#stops;
    const { channel } = this.#awaited.subject;
    const stop = await topology.listen(channel, (message) => this.hear(message), options.callTimeoutMs);
    if (stop instanceof CallFailure) return stop;
    if (stops !== this.#stops) {
      stop();
      return new CallFailure('closed', 'nobody listens any more');
    }
    this.#stopListening = stop;
    return null;
  }

  async #sleepUntilWoken(delayMs: number): Promise<void> {
    const reason = this.#heard ?? (await this.#sleep(delayMs));
    if (reason !== null) telemetry.woken(this.#awaited.subject, reason);
  }

  /** Sleeps for at most `delayMs`, keeping the process alive. Null when `stop` ended it. */
  #sleep(delayMs: number): Promise<WakeReason | null> {
    const { timers } = this.#services;
    return new Promise((resolve) => {
      const deadline = new Deadline(() => this.#endSleep?.('time'), true);
      this.#endSleep = (reason) => {
        this.#endSleep = null;
        timers.cancel(deadline);
        resolve(reason);
      };
      timers.setIn(deadline, delayMs);
    });
  }
}
