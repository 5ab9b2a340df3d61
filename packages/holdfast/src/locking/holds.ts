/** The holds of one entrance. */
import type { ResolvedAcquireOptions } from '../options/acquire-options.ts';
import { Deadline } from '../runtime/timer-queue.ts';
import type { Hold } from './hold.ts';
import { type HoldingServices, hasRoom, lingers } from './hold-life.ts';
import type { Mailboxes } from './waiting/mailboxes.ts';

interface HoldsServices extends HoldingServices {
  readonly mailboxes: Mailboxes;
}

const NO_HOLDS: readonly Hold[] = [];

export class Holds {
  readonly #services: HoldsServices;
  /** Most kinds have one hold at a time: it takes no array. */
  #first: Hold | null = null;
  #others: readonly Hold[] = NO_HOLDS;

  constructor(services: HoldsServices) {
    this.#services = services;
  }

  get all(): readonly Hold[] {
    return this.#first === null ? NO_HOLDS : [this.#first, ...this.#others];
  }

  get size(): number {
    return this.#first === null ? 0 : 1 + this.#others.length;
  }

  /** `look` is called when a hold that is kept unowned has to be released: its time is over, or somebody wants the lock. */
  add(hold: Hold, look: () => void): void {
    if (this.#first === null) this.#first = hold;
    else this.#others = this.#others.concat(hold);
    const { timers, mailboxes } = this.#services;
    const { linger, protocol } = hold;
    const mailbox = linger === undefined ? null : mailboxes.of(protocol);
    if (linger === undefined || mailbox === null) return;
    // One deadline for each hold is enough, because `linger.untilMs` does not move.
    timers.setAt(new Deadline(look, false), linger.untilMs);
    let isServed = false;
    const give = (): void => {
      hold.endLinger();
      if (isServed) look();
    };
    // `register` calls `give` at once for a message that came before the grant's reply. The first owner is not served yet then: no look.
    mailboxes.register(linger.wait, mailbox, give, linger.resyncs);
    isServed = true;
  }

  /** A message says that the hold of `holder` was taken away by force: the server is asked now, and not at the next renewal. */
  suspect(holder: string, words: string): void {
    for (const hold of this.all) {
      if (hold.holder !== holder) continue;
      hold.takenFor = words;
      this.#services.renewal.suspect(hold);
    }
  }

  drop(hold: Hold): void {
    if (this.#others.length === 0) {
      if (this.#first === hold) this.#first = null;
    } else {
      const [first = null, ...others] = this.all.filter((other) => other !== hold);
      this.#first = first;
      this.#others = others;
    }
    if (hold.linger !== undefined) this.#services.mailboxes.unregister(hold.linger.wait);
  }

  /** A hold that may serve one more owner; null: there is none. */
  roomFor(options: ResolvedAcquireOptions): Hold | null {
    if (this.#first === null) return null;
    return this.#find((hold) => hasRoom(this.#services, hold, options)) ?? null;
  }

  /** A hold that is to be given back, because nobody owns it, and it is not kept for a caller to come. */
  unowned(isWanted: boolean): Hold | undefined {
    if (this.#first === null) return undefined;
    return this.#find((hold) => hold.owners.length === 0 && (isWanted || !this.isKept(hold)));
  }

  /** Keeps the hold although nobody owns it any more, if that is allowed. */
  keep(hold: Hold): boolean {
    const isKept = this.isKept(hold);
    if (hold.linger !== undefined) hold.linger.wasKept = isKept;
    return isKept;
  }

  /** Whether the hold is kept although nobody owns it. */
  isKept(hold: Hold): boolean {
    return lingers(this.#services, hold);
  }

  /** No hold is kept unowned any more. */
  endLinger(): void {
    for (const hold of this.all) hold.endLinger();
  }

  #find(matches: (hold: Hold) => boolean): Hold | undefined {
    const first = this.#first;
    return first !== null && matches(first) ? first : this.#others.find(matches);
  }
}
