/** The line of waiters of one name on a scripted server: who is in it, and for how long a free key is left to guests. */

/** A ticket lives for this long after the last ask that stated it. */
const TICKET_MS = 15_000;

/** Where a process hears. */
export interface ScriptedAddress {
  readonly holder: string;
  readonly echo: string;
  /** `n`: the process hears nothing yet. */
  readonly mode: string;
  readonly channel: string;
}

export interface ScriptedTicket extends ScriptedAddress {
  readonly leaseMs: number;
  readonly fences: number;
  readonly claimMs: number;
  readonly deadlineMs: number;
}

export class ScriptedLine {
  /** In order. */
  readonly tickets: ScriptedTicket[] = [];
  /** Until when a free key is left to guests. */
  openUntilMs = 0;
  /** Owners of ours since the key was last left to guests. */
  run = 0;

  /** Who may keep the lock unowned. */
  lingering: ScriptedAddress | null = null;

  /** States the ticket of a holder: where it stands, or at the end. Returns its place, from 1. */
  join(holder: string, stated: string, leaseMs: number, fences: number, nowMs: number): number {
    const [, echo = '', claimMs, mode = '', channel = ''] =
      /^(\S+) (\d+) \d*([a-z])l? (.*)$/.exec(stated) ?? [];
    if (echo === '') throw new Error(`the scripted server cannot read the ticket ${stated}`);
    const terms = { holder, leaseMs, fences, claimMs: Number(claimMs), deadlineMs: nowMs + TICKET_MS };
    const at = this.tickets.findIndex((other) => other.holder === holder);
    const known = this.tickets[at];
    // An ask from before the process could hear may arrive late: its process does not go deaf by it.
    const address = mode === 'n' && known !== undefined ? known : { mode, channel };
    const ticket = { ...terms, echo, mode: address.mode, channel: address.channel };
    if (known === undefined) this.tickets.push(ticket);
    else this.tickets[at] = ticket;
    return known === undefined ? this.tickets.length : at + 1;
  }

  /** A holder was granted the lock. Returns how many are in line, for one that wants to keep the lock unowned. */
  keepUnowned(holder: string, stated: string): number {
    const [, echo, mode = '', channel = ''] = /^(\S+) \d+ \d*([a-z])l (.*)$/.exec(stated) ?? [];
    if (echo === undefined) return 0;
    if (this.tickets.length === 0) this.lingering = { holder, echo, mode, channel };
    return this.tickets.length;
  }

  /** Returns the place that the holder had, from 1; 0 for none. */
  leave(holder: string): number {
    const place = 1 + this.tickets.findIndex((other) => other.holder === holder);
    if (place > 0) this.tickets.splice(place - 1, 1);
    return place;
  }

  openMs(nowMs: number): number {
    return Math.max(0, this.openUntilMs - nowMs);
  }

  /** Leaves the free key to guests. */
  open(lengthMs: number, nowMs: number): void {
    this.openUntilMs = nowMs + lengthMs;
    this.run = 0;
  }
}
