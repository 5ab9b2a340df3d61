/** What the scripts of all kinds are told and answer about the line of waiters. */
import type { AcquireAnswer, HoldTerms } from '../topologies/protocol.ts';

/** Where there is no line. */
const NO_LINE = '-';

/** In the line, but without a ticket: a caller that does not wait. */
const NO_TICKET = '';

export function ticketOf({ ticket = NO_TICKET }: HoldTerms, hasLine: boolean): string {
  return hasLine ? ticket : NO_LINE;
}

/** The answer HELD of an acquire script. */
export interface HeldReply {
  readonly nowMs: number;
  readonly ttlMs: number;
  readonly owner: string;
  readonly place: number;
  readonly tickets: number;
  readonly openMs: number;
  readonly isGuest: number;
}

export function heldAnswer(reply: HeldReply): AcquireAnswer {
  const { nowMs, ttlMs, owner, place, tickets, openMs, isGuest } = reply;
  return { is: 'HELD', nowMs, ttlMs, owner, line: { place, tickets, openMs, isGuest: isGuest === 1 } };
}
