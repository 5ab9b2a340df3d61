/**
 * Attempts to get a hold, and the holder id that each is made under: a fresh id for each attempt, or one for a whole
 * wait (`holderPer` of the kind). An attempt that may have been granted without our knowing is repeated under its own
 * id, with the same fences, until that id is granted or abandoned: safety rule 5. So is an attempt that got a place in
 * the line of waiters: the id stands there, and may be granted at any time.
 */
import type { CallFailure } from '../../clients/client.ts';
import { CLAIM_MS_DEFAULT, type ResolvedLocksOptions } from '../../options/options.ts';
import { instantNow } from '../../runtime/instant.ts';
import type { TimerQueue } from '../../runtime/timer-queue.ts';
import { warnDeaf } from '../../telemetry/warnings.ts';
import type { HolderIds, HoldTerms, Protocol } from '../../topologies/protocol.ts';
import type { AcquireResult, Mailbox, Topology } from '../../topologies/topology.ts';
import { type Broken, quoted, type Refusal } from '../failures.ts';
import type { Mailboxes, Receiver } from './mailboxes.ts';
import { type GrantMessage, Ticket } from './ticket.ts';

/** A caller with a very short wait still gives the server this long to answer: it asked not to queue, not to fail. */
const ATTEMPT_MS_MIN = 250;

/**
 * Fences for hand-overs to callers who come while the lock is held. Always asked for, also by a caller that is alone
 * now. Fences are microseconds of the server's time, so a block that is longer than its hold lasts raises the counter
 * faster than the clock. A hold lasts two round trips, which take 65 µs at least: this many cost nothing. Whoever is
 * faster (releases without waiting for the answer) is stopped by the server, whose blocks end at most 1 ms past its time.
 */
export const SPARE_FENCES = 64;

/** How long a ticket stands in the line after its last ask. By then a server that we cannot reach has dropped the ticket. */
const TICKET_MS = 15_000;

/** A claim that was lost is doubled for the next ask, up to this: the process is far away, or slow. */
const CLAIM_MS_LOST_MAX = 5_000;

/** In a ticket that hears nothing, in place of the mode of its mailbox. */
const DEAF = 'n';

/** Added to the mode in a ticket: the holder may keep an idle lock unowned, and asks for a message when somebody wants it. */
const LINGERS = 'l';

/** How a hold may be kept unowned. */
export interface Linger {
  /** Until when, by our monotonic clock; 0: not any more. */
  untilMs: number;
  /** Whether the hold has been kept unowned since its last owner left. */
  wasKept: boolean;
  /** The wait that messages name when somebody wants the lock. */
  readonly wait: number;
  /** `Mailboxes.resyncs` when the lock was asked for: if it has grown since, a 'wanted' message may be lost. */
  readonly resyncs: number;
}

/** What an attempt brought. */
export interface Grant {
  readonly is: 'granted';
  readonly terms: HoldTerms;
  readonly answer: Extract<AcquireResult, { is: 'granted' }>;
  /** Whether a message from the line has told of the grant. */
  readonly isFromLine?: boolean;
  /** For a grant by message: how long the server keeps the hold until the full lease is stated. */
  readonly claimMs?: number;
  /** Absent: the hold must not be kept unowned, because somebody is in line, or because this process would not hear a 'wanted'. */
  readonly linger?: Linger;
}

/** A caller, as an attempt sees it. */
export interface Attempted {
  readonly leaseMs: number;
  readonly waitMs: number;
  /** How many more callers of this process are in the queue. */
  readonly behind: number;
  /** Whether the caller waits in the line, if there is one. */
  readonly joins: boolean;
  /** How long the hold may be kept unowned. */
  readonly lingerMs: number;
  /** How many releases were heard on the public channel since the last attempt. @default 0 */
  readonly releases?: number;
}

export interface AttemptServices {
  readonly timers: TimerQueue;
  readonly topology: Topology;
  readonly options: ResolvedLocksOptions;
  readonly holderIds: HolderIds;
  readonly mailboxes: Mailboxes;
  /** The record of the session, for those who look at the line. */
  readonly record: { begin(): void } | null;
}

export class Attempts {
  readonly #services: AttemptServices;
  readonly #protocol: Protocol;
  /** The terms of the last attempt. Null: the next attempt is made under a fresh holder id. */
  #terms: HoldTerms | null = null;
  /** Whether servers may have granted those terms without our knowing. */
  #isOpen = false;
  /** Whether an attempt has found somebody else as the owner. */
  hasMetOwner = false;
  #ticket: Ticket | null = null;
  /** How often messages may have been missed before the last ask. */
  #resyncs = 0;
  /** The server does not let us hear of grants: we take our place in the line, and get our turn by asking. */
  #isDeaf = false;
  /** Whether the holder has a place in the line, as far as we know. */
  #isInLine = false;
  /** Whether the last attempt stated a ticket. It got no place if the line was full. */
  #hasStated = false;
  /** The last grant message. The reply to a repeated ask says only the last fence of the block that the message told. */
  #told: GrantMessage | null = null;
  /** Whether a 'wanted' message has come since the last ask was sent: somebody else wants the lock. */
  #isWanted = false;
  /** How often this wait was granted the lock by a message, and had lost it when it asked. */
  #lostClaims = 0;

  constructor(services: AttemptServices, protocol: Protocol) {
    this.#services = services;
    this.#protocol = protocol;
  }

  get hasStated(): boolean {
    return this.#hasStated;
  }

  /** Whether a grant in the line would be heard. Until then no ticket is stated, unless subscribing has failed. */
  get hears(): boolean {
    return this.#hearsAt(this.#mailbox);
  }

  #hearsAt(mailbox: Mailbox | null): boolean {
    return mailbox !== null && this.#services.mailboxes.isOpen(mailbox);
  }

  /** Subscribes to where grants are heard. Null when that is confirmed, otherwise why it was not. */
  async listen(): Promise<CallFailure | null> {
    const mailbox = this.#mailbox;
    if (mailbox === null) return null;
    const failure = await this.#services.mailboxes.open(mailbox);
    this.#isDeaf = failure !== null;
    if (failure?.word === 'NOPERM') warnDeaf(quoted(this.#protocol), mailbox.channel, failure.text);
    return failure;
  }

  /** From now on the receiver hears the messages for this wait. */
  attach(receiver: Receiver): void {
    const mailbox = this.#mailbox;
    if (mailbox === null || this.#ticket === null) return;
    const receive: Receiver = (message) => {
      // A 'wanted' message can overtake the reply that makes this wait the owner: remembered for that owner.
      if (message?.is === 'wanted') this.#isWanted = true;
      receiver(message);
    };
    this.#services.mailboxes.register(this.#ticket.number, mailbox, receive, this.#resyncs);
  }

  get #mailbox(): Mailbox | null {
    return this.#services.mailboxes.of(this.#protocol);
  }

  async make(attempted: Attempted): Promise<Grant | Refusal | Broken> {
    const { leaseMs, waitMs, behind, joins, lingerMs, releases = 0 } = attempted;
    const { topology, options } = this.#services;
    const known = this.#terms;
    const stated =
      known === null ? this.#fresh(leaseMs, behind) : { ...known, leaseMs, isInLine: this.#isInLine };
    const mailbox = this.#mailbox;
    const hears = this.#hearsAt(mailbox);
    this.#hasStated = joins && (hears || this.#isDeaf);
    const terms =
      this.#hasStated && mailbox !== null
        ? this.#withTicket(
            stated,
            mailbox.channel,
            `${hears && releases > 0 ? releases : ''}${hears ? mailbox.mode : DEAF}${lingerMs > 0 ? LINGERS : ''}`,
          )
        : stated;
    // A hold is kept unowned only by a process that hears 'wanted' messages. It subscribes now, so the next hold can be kept.
    if (lingerMs > 0 && !hears) void this.listen();
    const lingerUntilMs = lingerMs > 0 ? this.#services.timers.clock.monotonicMs() + lingerMs : 0;
    const wasOpen = this.#isOpen;
    this.#terms = terms;
    this.#isOpen = true;
    this.#isWanted = false;
    const timeoutMs = Math.min(options.callTimeoutMs, Math.max(waitMs, ATTEMPT_MS_MIN));
    const answer = await topology
      .acquire(this.#protocol, terms, timeoutMs)
      .catch((error: unknown): Broken => ({ is: 'broken', error }));
    if (answer.is === 'granted') {
      const told = this.#told;
      const wait = this.#ticket?.number;
      this.#forget();
      const isFromLine = told !== null;
      const grant = { is: 'granted', terms, answer: withTold(answer, told), isFromLine } as const;
      const isAlone = answer.tickets === 0 && !this.#isWanted;
      const canLinger = lingerMs > 0 && hears && wait !== undefined && isAlone;
      if (!canLinger) return grant;
      return {
        ...grant,
        linger: { untilMs: lingerUntilMs, wasKept: false, wait, resyncs: this.#resyncs },
      };
    }
    if (answer.is === 'failed') {
      // Nothing of this holder is left, or the topology is giving it back: the holder id is never used again.
      if (!answer.mayBeGranted) this.#forget();
      return answer;
    }
    if (answer.is === 'held' && !answer.isSplit) this.hasMetOwner = true;
    if (answer.is === 'held' && this.#told !== null) {
      this.#told = null;
      this.#lostClaims += 1;
    }
    if (answer.is === 'held' && (answer.line?.place ?? 0) > 0) this.#isInLine = true;
    const isLeft = wasOpen || this.#isInLine || this.#protocol.policy.holderPer === 'wait';
    if (answer.is !== 'broken' && !isLeft) this.#forget();
    return answer;
  }

  /**
   * A message says that the holder of this wait is the owner. Null: the message is not of this wait. `isYoung` false: the
   * server has to be asked before anybody is served.
   */
  claim(message: GrantMessage): (Grant & { readonly isYoung: boolean }) | null {
    const terms = this.#terms;
    const now = instantNow(this.#services.timers.clock);
    const claim = this.#ticket?.claimOf(message, now) ?? null;
    if (terms === null || claim === null) return null;
    this.#told = message;
    const { fencing } = this.#protocol;
    const firstFence = fencing === undefined ? undefined : message.firstFence;
    const fences = fencing === undefined ? terms.fences : message.fences;
    const { deadline, claimMs, isYoung } = claim;
    const answer = { is: 'granted', deadline, firstFence, fences, tickets: 1, heardAt: now } as const;
    return { is: 'granted', terms, answer, claimMs, isYoung, isFromLine: true };
  }

  /** The hold of a claim has begun: the holder belongs to it now. */
  claimed(): void {
    this.#forget();
  }

  #fresh(leaseMs: number, behind: number): HoldTerms {
    const { options, holderIds } = this.#services;
    const fences = 1 + Math.min(options.handovers, Math.max(behind, SPARE_FENCES));
    return { holder: this.#protocol.newHolder(holderIds), leaseMs, fences };
  }

  #withTicket(terms: HoldTerms, channel: string, mode: string): HoldTerms {
    const { timers, options, holderIds, mailboxes, record } = this.#services;
    record?.begin();
    this.#ticket ??= new Ticket(holderIds.nextNumber(), holderIds.token().slice(0, 16));
    const leastMs = options.claimMs === 0 ? CLAIM_MS_DEFAULT : options.claimMs;
    const wantedMs = Math.min(leastMs * 2 ** this.#lostClaims, Math.max(leastMs, CLAIM_MS_LOST_MAX));
    // A claim is what the server keeps for us until we state the lease: never longer than that.
    const claimMs = Math.min(wantedMs, terms.leaseMs);
    this.#resyncs = mailboxes.resyncs;
    const echo = this.#ticket.ask(instantNow(timers.clock), claimMs);
    const ticket = `${echo} ${claimMs} ${mode} ${channel}`;
    return { ...terms, ticket, isInLine: this.#isInLine };
  }

  /** Nobody wants what may have been granted: the servers are made to forget the holder. */
  abandon(): void {
    const terms = this.#isOpen ? this.#terms : null;
    // First: a subscriber that hears of a late release may come for the same lock, and must not get this holder.
    this.#forget();
    if (terms === null) return;
    const leaseMs = terms.ticket === undefined ? terms.leaseMs : Math.max(terms.leaseMs, TICKET_MS);
    this.#services.topology.abandon(this.#protocol, { ...terms, leaseMs });
  }

  #forget(): void {
    if (this.#ticket !== null) this.#services.mailboxes.unregister(this.#ticket.number);
    this.#ticket = null;
    this.#told = null;
    this.#terms = null;
    this.#isOpen = false;
    this.#isInLine = false;
  }
}

/** A repeated acquire is answered with the last fence of its block. If a message has told the whole block, it is used. */
function withTold(answer: Grant['answer'], told: GrantMessage | null): Grant['answer'] {
  if (told === null || answer.firstFence === undefined || answer.fences !== 1) return answer;
  if (told.firstFence + told.fences - 1 !== answer.firstFence) return answer;
  return { ...answer, firstFence: told.firstFence, fences: told.fences };
}
