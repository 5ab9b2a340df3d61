/**
 * Waiting for something that servers give out: attempt, listen, sleep, attempt again, or give up. One loop works for
 * everybody who waits for that thing in this process, and returns what it was granted.
 *
 * A round begins with an attempt. What follows depends on the answer:
 * - granted: the loop ends with the grant.
 * - held by somebody, with a line of waiters: the attempt has taken a place there. Sleep until a message says that the
 *   holder of this wait is the owner. Ask again now and then, because any ask serves the line and keeps the place.
 * - held by somebody, without a line: subscribe, and attempt again once that is confirmed: whatever was released before is
 *   seen, whatever is released after is heard. Then sleep until a message, the end of the lease, or the cap.
 * - held by nobody, because votes were split: sleep for a random while, which settles who comes first.
 * - failed: back off, for as long as an outage may last.
 * - a conflict, a failure that will not pass, a server that never answered, an outage that is too long: give up.
 *
 * On the public channel a message is a hint, which ends a sleep. A message in the line may be a grant, whose worth the
 * ticket judges. A message that comes during an attempt is kept, so that another attempt follows an answer `held` at once.
 * Without a line the subscription lasts until `stop`: who waits behind a hold of this process keeps listening.
 */
import type { CallFailure } from '../../clients/client.ts';
import type { ResolvedLocksOptions } from '../../options/options.ts';
import { Backoff } from '../../runtime/backoff.ts';
import { detached } from '../../runtime/detached.ts';
import type { TimerQueue } from '../../runtime/timer-queue.ts';
import type { Subject, WakeReason } from '../../telemetry/channels.ts';
import { telemetry } from '../../telemetry/publish.ts';
import type { LinePlace } from '../../topologies/protocol.ts';
import type { Topology } from '../../topologies/topology.ts';
import { type Broken, type Failed, type Held, isUnanswered, type Refusal } from '../failures.ts';
import { CourtesyPause, courtesyMs } from './courtesy.ts';
import { InterruptibleSleep } from './interruptible-sleep.ts';
import { ReleaseListener } from './release-listener.ts';
import type { GrantMessage, WaitMessage } from './ticket.ts';

/**
 * The longest sleep, because a message may be lost. Each sleep is shorter by a random share, up to a quarter, so that
 * processes do not attempt in step.
 */
const SLEEP_MS_MAX = 5_000;

/** A key vanishes a little after its time: asking sooner costs an attempt for nothing. */
const EXPIRY_SLACK_MS = 2;

/** How soon a waiter in the line asks again, for each ticket there: any ask serves all, and a ticket lives for 15 s. */
const ASK_MS_EACH = 250;
const ASK_MS_MIN = 1_000;

/** Waiters at these places ask often: a message may be lost, the owner may be a guest, the first waiter may have died. */
const FRONT_PLACES = 2;

/** Those for whom a loop waits. */
export interface WaitParty {
  /** Nobody waits any more. */
  readonly isOver: boolean;
  /** How long the first of them still waits. */
  readonly leftMs: number;
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

/** The line of waiters in Redis, as one wait sees it. */
export interface AwaitedLine<Grant> {
  /** Whether the last attempt stated a ticket. */
  readonly hasStated: boolean;
  /** Whether a grant would be heard. */
  readonly hears: boolean;
  /** Subscribes to where grants are heard. Null when that is confirmed, otherwise why it was not. */
  listen(): Promise<CallFailure | null>;
  /** From now on the receiver hears the messages for this wait. */
  attach(receiver: (message: WaitMessage | null) => void): void;
  /** What a message of a grant is worth now. Null: ask the server first. */
  claim(message: GrantMessage): Grant | null;
}

/** What is waited for. */
export interface Awaited<Grant> {
  readonly subject: Subject & { readonly channel: string };
  readonly line: AwaitedLine<Grant>;
  /** `releases`: how many were heard on the public channel since the last attempt. */
  attempt(releases: number): Promise<Grant | Refusal | Broken>;
}

export class WaitLoop<Grant extends { readonly is: 'granted' }> {
  readonly #services: WaitLoopServices;
  readonly #party: WaitParty;
  readonly #awaited: Awaited<Grant>;
  /** What ended the last sleep of this run; null: it has not slept. */
  wokenBy: WakeReason | null = null;
  #isAttempting = false;
  #outageSinceMs: number | null = null;
  #splitVotes = 0;
  #backoff: Backoff | null = null;
  #listenBackoff: Backoff | null = null;
  readonly #listener: ReleaseListener;
  readonly #sleep: InterruptibleSleep;
  readonly #courtesy: CourtesyPause;
  /** The last grant that was heard and not used yet. An attempt under way is waited for: it may bring the same. */
  #grant: GrantMessage | null = null;

  constructor(services: WaitLoopServices, party: WaitParty, awaited: Awaited<Grant>) {
    this.#services = services;
    this.#party = party;
    this.#awaited = awaited;
    this.#sleep = new InterruptibleSleep(services.timers);
    this.#courtesy = new CourtesyPause(services.timers);
    const { topology, options } = services;
    const { channel } = awaited.subject;
    this.#listener = new ReleaseListener(topology, channel, options.callTimeoutMs, (message) =>
      this.hear(message),
    );
  }

  get isAttempting(): boolean {
    return this.#isAttempting;
  }

  get isListening(): boolean {
    return this.#listener.isOpen;
  }

  /**
   * Runs until something is granted, or until nobody waits any more (null). Goes on from the refusal of an attempt that
   * was made before, if there was one; otherwise the first attempt is sent after `pauseMs`.
   */
  async run(last: Refusal | Broken | null, pauseMs: number): Promise<Grant | null> {
    this.wokenBy = null;
    this.#outageSinceMs = null;
    this.#splitVotes = 0;
    this.#backoff = null;
    const grant = await this.#firstRound(last, pauseMs);
    // Callers behind our own hold need no public message where there is a line, and a subscription would count as a guest's.
    if (grant !== null && this.#awaited.line.hears) this.#listener.close();
    return grant;
  }

  async #firstRound(last: Refusal | Broken | null, pauseMs: number): Promise<Grant | null> {
    if (last !== null || pauseMs > 0) return detached(() => this.#rounds(last, pauseMs));
    // The first attempt runs in the async context of its caller; what is done for everybody runs in nobody's.
    const result = await this.#attempt();
    return result.is === 'granted' ? result : detached(() => this.#rounds(result, 0));
  }

  async #rounds(last: Refusal | Broken | null, pauseMs: number): Promise<Grant | null> {
    await this.#courtesy.pause(pauseMs, this.#party.leftMs);
    for (let refusal = last; ; ) {
      if (refusal !== null) await this.#waitAfter(refusal);
      if (this.#party.isOver) return null;
      const claimed = this.#claim();
      if (claimed !== null) return claimed;
      const result = await this.#attempt();
      if (result.is === 'granted') return result;
      refusal = result;
    }
  }

  /** A message, of whatever kind; null: messages may have been missed. */
  hear(message: string | WaitMessage | null): void {
    this.#sleep.wake(message === null ? 'resync' : 'message');
  }

  /** A message for this wait from the line; null: messages may have been missed. */
  receive(message: WaitMessage | null): void {
    if (message?.is === 'ask' && message.inMs > 0) {
      // Told to come back after a window for guests.
      this.#sleep.wakeIn(message.inMs);
      return;
    }
    // What was heard until then is no release of guests to whom the lock is left now.
    if (message?.is === 'ask') this.#listener.takeReleases();
    if (message?.is === 'grant') this.#grant = message;
    this.hear(message);
  }

  /** What was heard in the line, if it can be used without asking the server. */
  #claim(): Grant | null {
    const grant = this.#grant;
    this.#grant = null;
    return grant === null ? null : this.#awaited.line.claim(grant);
  }

  /** Ends the sleep and the subscription. A subscription that is not confirmed yet is undone when it is. */
  stop(): void {
    this.#grant = null;
    this.#listener.close();
    this.#sleep.stop();
    this.#courtesy.stop();
  }

  async #attempt(): Promise<Grant | Refusal | Broken> {
    // The attempt that is about to be sent will see for itself what was heard so far.
    this.#sleep.forget();
    this.#isAttempting = true;
    const result = await this.#awaited.attempt(this.#listener.takeReleases());
    this.#isAttempting = false;
    return result;
  }

  /** What follows a refusal: a wait of its own kind, or the end. */
  #waitAfter(refusal: Refusal | Broken): Promise<void> | void {
    if (refusal.is !== 'held' && refusal.is !== 'failed') return this.#party.giveUp(refusal);
    if (refusal.is === 'failed') return this.#waitAfterFailure(refusal);
    this.#outageSinceMs = null;
    this.#party.held(refusal);
    if (this.#party.isOver) return;
    if (refusal.isSplit) return this.#waitAfterSplitVotes(refusal);
    const { line } = refusal;
    return line === undefined ? this.#waitForRelease(refusal) : this.#waitInLine(refusal, line);
  }

  async #waitInLine({ ttlMs }: Held, { place, tickets, openMs, isGuest }: LinePlace): Promise<void> {
    const { line } = this.#awaited;
    this.#backoff = null;
    // The first wait of a session, or of a name in a cluster. Confirmed: join the line.
    if (!line.hears && (await line.listen()) === null) return;
    if (this.#party.isOver) return;
    line.attach((message) => this.receive(message));
    const isFront = place > 0 && place <= FRONT_PLACES;
    // A guest tells of its release on the public channel, and so does a release that finds nobody in line who hears. Whoever is first
    // hears it, and says how many releases it has heard: the lock is left to guests more rarely when they have had many turns.
    if (!line.hears || (isFront && (isGuest || openMs > 0))) {
      if (!this.isListening && (await this.#listener.open()) === null) return;
      if (this.#party.isOver) return;
    } else {
      this.#listener.close();
    }
    // The answer is from before a grant would have been heard: join the line.
    if (!line.hasStated) return;
    const { random } = this.#services.options;
    const askMs = isFront ? ASK_MS_MIN : Math.min(Math.max(ASK_MS_EACH * tickets, ASK_MS_MIN), SLEEP_MS_MAX);
    let delayMs = askMs * (1 - random.fraction() / 4);
    if (openMs > 0) delayMs = Math.min(delayMs, openMs);
    else if (isFront && ttlMs >= 0) delayMs = Math.min(delayMs, ttlMs + EXPIRY_SLACK_MS);
    await this.#sleepUntilWoken(delayMs);
  }

  async #waitForRelease({ ttlMs }: Held): Promise<void> {
    this.#backoff = null;
    this.#splitVotes = 0;
    const { random } = this.#services.options;
    const refusedMs = this.#services.timers.clock.monotonicMs();
    let capMs = SLEEP_MS_MAX * (1 - random.fraction() / 4);
    if (!this.isListening) {
      const failure = await this.#listener.open();
      if (failure === null) this.#listenBackoff = null;
      // Confirmed: the next attempt looks again.
      if (failure === null || this.#party.isOver) return;
      // The subscription failed. An error reply will be the same next time; after any other failure try again soon.
      this.#listenBackoff ??= new Backoff(random);
      if (failure.kind !== 'reply') capMs = this.#listenBackoff.nextMs();
    }
    await this.#sleepUntilWoken(ttlMs < 0 ? capMs : Math.min(capMs, ttlMs + EXPIRY_SLACK_MS));
    if (this.wokenBy !== 'message') return;
    await this.#courtesy.pause(courtesyMs(this.#services, refusedMs), this.#party.leftMs);
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

  async #sleepUntilWoken(delayMs: number): Promise<void> {
    const reason = await this.#sleep.sleep(delayMs);
    this.wokenBy = reason;
    if (reason !== null) telemetry.woken(this.#awaited.subject, reason);
  }
}
