/**
 * The reads of Redis that requests cause: the line of an open lock, a page of alerts, a page of the audit trail. Requests for
 * the same thing share a read, and all reads together have one bound, which docs/operate/monitoring.md states: neither many
 * open pages nor a program that asks for name after name costs Redis more.
 *
 * Part of the bound is for what is open already, the rest for what nobody has asked for lately. So a program that asks for one
 * name after the other does not keep open pages from being read, nor do many open pages keep another one from opening.
 */

export type ReadKind = 'line' | 'alerts' | 'audit';

/** Calls in any second, with the whole budget: 20 together. */
const CALLS_FOR_OPEN = 12;
const CALLS_FOR_NEW = 8;
/** The costliest read makes that many calls: with the smallest budget it must fit too. */
const CALLS_MIN = 2;

/** For how long a read is shared. */
const FRESH_MS = 1_000;
/** With many things open each is read less often, so that all together need ten calls a second: fewer than there are for them. */
const FRESH_MS_PER_CALL = 100;

/** What nobody has asked for during this time is not open any more. A page of a lock asks once a second. */
const OPEN_MS = 3_000;
/** Beyond that what was not asked for the longest is forgotten. */
const OPEN_MAX = 100;

export interface PageRead<Answer> {
  readonly kind: ReadKind;
  /** Which line, or which page. */
  readonly what: string;
  /** How often it calls each server. */
  readonly calls: number;
  readonly read: () => Promise<Answer>;
}

interface Opened {
  readonly kind: ReadKind;
  readonly calls: number;
  readonly readAt: number;
  readonly answer: Promise<unknown>;
  askedAt: number;
  isReading: boolean;
  /** Something was done since, so that the answer is wrong and not just old. */
  isOutdated: boolean;
}

export class PageReads {
  readonly #now: () => number;
  readonly #freshMsPerCall: number;
  readonly #forOpen: CallWindow;
  readonly #forNew: CallWindow;
  /** By kind and what. What was asked for last is last. */
  readonly #opened = new Map<string, Opened>();

  /** `budget` is from 0.1 to 1. */
  constructor(now: () => number, budget: number) {
    this.#now = now;
    this.#freshMsPerCall = FRESH_MS_PER_CALL / budget;
    this.#forOpen = new CallWindow(CALLS_FOR_OPEN * budget);
    this.#forNew = new CallWindow(CALLS_FOR_NEW * budget);
  }

  /**
   * The answer: of a read that is under way, of the last one while it is fresh, or of a new one. Over the bound it is the last one,
   * some seconds old; null: there is none that still holds.
   */
  ask<Answer>({ kind, what, calls, read }: PageRead<Answer>): Promise<Answer> | null {
    const now = this.#now();
    this.#forgetClosed(now);
    const key = `${kind} ${what}`;
    const last = this.#opened.get(key);
    if (last !== undefined) {
      last.askedAt = now;
      this.#opened.delete(key);
      this.#opened.set(key, last);
      if (!last.isOutdated && (last.isReading || now - last.readAt < this.#freshMs()))
        return last.answer as Promise<Answer>;
    }
    if (!(last === undefined ? this.#forNew : this.#forOpen).take(now, calls))
      return last === undefined || last.isOutdated ? null : (last.answer as Promise<Answer>);
    const answer = read();
    this.#opened.set(key, this.#reading({ kind, calls, readAt: now, answer }));
    if (this.#opened.size > OPEN_MAX) this.#opened.delete(this.#opened.keys().next().value as string);
    return answer;
  }

  /** An action was done, or an alert has changed: pages of alerts and of the audit trail from before are given to nobody. */
  outdate(): void {
    for (const opened of this.#opened.values()) if (opened.kind !== 'line') opened.isOutdated = true;
  }

  #reading(read: Pick<Opened, 'kind' | 'calls' | 'readAt' | 'answer'>): Opened {
    const opened: Opened = { ...read, askedAt: read.readAt, isReading: true, isOutdated: false };
    const done = (): void => {
      opened.isReading = false;
    };
    opened.answer.then(done, done);
    return opened;
  }

  #freshMs(): number {
    let calls = 0;
    for (const opened of this.#opened.values()) calls += opened.calls;
    return Math.max(FRESH_MS, calls * this.#freshMsPerCall);
  }

  #forgetClosed(now: number): void {
    for (const [key, { askedAt }] of this.#opened) {
      if (now - askedAt <= OPEN_MS) return;
      this.#opened.delete(key);
    }
  }
}

/** At most so many calls in any second. */
class CallWindow {
  readonly #most: number;
  /** When each call of the last second was made, the oldest first. */
  #times: number[] = [];

  constructor(most: number) {
    this.#most = Math.max(CALLS_MIN, Math.round(most));
  }

  /** False, and nothing is taken, when there is no room. */
  take(now: number, calls: number): boolean {
    this.#times = this.#times.filter((time) => now - time < 1_000);
    if (this.#times.length + calls > this.#most) return false;
    for (let call = 0; call < calls; call += 1) this.#times.push(now);
    return true;
  }
}
