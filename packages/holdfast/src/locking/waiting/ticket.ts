/**
 * The ticket of one wait: this process's place in the line of waiters of a name, as this process knows it.
 *
 * A grant is published by whoever releases the lock, and names the *ask* that stated the ticket last, by its echo. The
 * grant was made after that ask had reached the server, so its claim is counted from just before that ask was sent:
 * safety rule 1 without any time of the server. The echo contains random digits that only readers of the line know.
 */
import { type Instant, leaseDeadline, remainingAt } from '../../runtime/instant.ts';

/** How many asks are remembered. A grant usually echoes the last ask, or one that the last overtook; the claim of an older ask is over. */
const ASKS_MAX = 8;

/** With a smaller share of the claim left, the server is asked again before a caller is served. */
const EVIDENCE_SHARE = 0.5;

interface Ask {
  readonly echo: string;
  readonly sentAt: Instant;
  readonly claimMs: number;
}

/** A message that makes the holder of a ticket the owner. */
export interface GrantMessage {
  readonly is: 'grant';
  readonly echo: string;
  readonly firstFence: number;
  readonly fences: number;
}

/** A message that tells the process of a ticket to ask again. */
export interface AskMessage {
  readonly is: 'ask';
  readonly echo: string;
  readonly inMs: number;
}

/** A message that somebody wants a lock that its owner may be keeping unowned. */
export interface WantedMessage {
  readonly is: 'wanted';
  readonly echo: string;
}

/** A message that a lock was taken away by force. It is a hint: whoever hears it asks the server. */
export interface RevokedMessage {
  readonly is: 'revoked';
  readonly holder: string;
  /** Why, in the words of the operator; '' where none were said. */
  readonly words: string;
}

/** A message for one wait. */
export type WaitMessage = GrantMessage | AskMessage | WantedMessage;

export type LineMessage = WaitMessage | RevokedMessage;

const REVOKED = /^x (\S+) \S+(?: (.*))?$/s;
const WANTED = /^w (\S+)$/;
const GRANT = /^g (\S+) (\d{1,16}) (\d{1,5})$/;
const ASK = /^a (\S+) (\d{1,5})$/;

/** Null for what is no message of the line. */
export function readMessage(text: string): LineMessage | null {
  const [, echo, firstFence, fences] = GRANT.exec(text) ?? [];
  if (echo !== undefined)
    return { is: 'grant', echo, firstFence: Number(firstFence), fences: Number(fences) };
  const [, asked, inMs] = ASK.exec(text) ?? [];
  if (asked !== undefined) return { is: 'ask', echo: asked, inMs: Number(inMs) };
  const [, wanted] = WANTED.exec(text) ?? [];
  if (wanted !== undefined) return { is: 'wanted', echo: wanted };
  const [, holder, words = ''] = REVOKED.exec(text) ?? [];
  return holder === undefined ? null : { is: 'revoked', holder, words };
}

/** The number of the wait that an echo belongs to. */
export function waitOf(echo: string): number {
  return Number.parseInt(echo, 10);
}

/** What a grant by message is worth. */
export interface Claim {
  readonly deadline: Instant;
  readonly claimMs: number;
  /** Whether enough of the claim is left to serve an owner without asking the server. */
  readonly isYoung: boolean;
}

export class Ticket {
  /** Which wait of the session this is. */
  readonly number: number;
  readonly #secret: string;
  /** The latest last. */
  readonly #asks: Ask[] = [];
  #count = 0;

  constructor(number: number, secret: string) {
    this.number = number;
    this.#secret = secret;
  }

  /** The echo of an ask that is about to be sent. */
  ask(sentAt: Instant, claimMs: number): string {
    this.#count += 1;
    const echo = `${this.number}.${this.#count}.${this.#secret}`;
    this.#asks.push({ echo, sentAt, claimMs });
    if (this.#asks.length > ASKS_MAX) this.#asks.shift();
    return echo;
  }

  /** Null when the echo is of no ask of this ticket, or of one that is too long ago. */
  claimOf({ echo }: GrantMessage, now: Instant): Claim | null {
    const ask = this.#asks.find((other) => other.echo === echo);
    if (ask === undefined) return null;
    const { sentAt, claimMs } = ask;
    const deadline = leaseDeadline(sentAt, claimMs);
    return { deadline, claimMs, isYoung: remainingAt(deadline, now) >= claimMs * EVIDENCE_SHARE };
  }
}
