/** The holds of one entrance. */
import type { ResolvedAcquireOptions } from '../options/acquire-options.ts';
import { Deadline } from '../runtime/timer-queue.ts';
import type { Hold } from './hold.ts';
import { type HoldingServices, hasRoom, lingers } from './hold-life.ts';
import type { Mailboxes } from './waiting/mailboxes.ts';

interface HoldsServices extends HoldingServices {
  readonly mailboxes: Mailboxes;
}

export class Holds {
  readonly #services: HoldsServices;
  #all: readonly Hold[] = [];

  constructor(services: HoldsServices) {
    this.#services = services;
  }

  get all(): readonly Hold[] {
    return this.#all;
  }

  get size(): number {
    return this.#all.length;
  }

  /** `look` is called when a hold that is kept unowned has to go: its time is over, or somebody wants it. */
  add(hold: Hold, look: () => void): void {
    this.#all = this.#all.concat(hold);
    const { timers, mailboxes } = this.#services;
    const { linger, protocol } = hold;
    const mailbox = linger === undefined ? null : mailboxes.of(protocol);
    if (linger === undefined || mailbox === null) return;
    // Once for each hold: the moment does not move.
    timers.setAt(new Deadline(look, false), linger.untilMs);
    let isServed = false;
    const give = (): void => {
      hold.lingerUntilMs = 0;
      if (isServed) look();
    };
    // What came before the answer is told at once, and the first owner is served after that.
    mailboxes.register(linger.wait, mailbox, give, linger.resyncs);
    isServed = true;
  }

  drop(hold: Hold): void {
    this.#all = this.#all.filter((other) => other !== hold);
    if (hold.linger !== undefined) this.#services.mailboxes.unregister(hold.linger.wait);
  }

  /** A hold that may serve one more owner; null: there is none. */
  roomFor(options: ResolvedAcquireOptions): Hold | null {
    return this.#all.find((hold) => hasRoom(this.#services, hold, options)) ?? null;
  }

  /** A hold that is to be given back, because nobody owns it, and it is not kept for a caller to come. */
  unowned(isWanted: boolean): Hold | undefined {
    return this.#all.find((hold) => hold.owners.length === 0 && (isWanted || !this.isKept(hold)));
  }

  /** Keeps the hold although nobody owns it any more, if that is allowed. */
  keep(hold: Hold): boolean {
    hold.wasKept = this.isKept(hold);
    return hold.wasKept;
  }

  /** Whether the hold is kept although nobody owns it. */
  isKept(hold: Hold): boolean {
    return lingers(this.#services, hold);
  }

  /** No hold is kept unowned any more. */
  endLinger(): void {
    for (const hold of this.#all) hold.lingerUntilMs = 0;
  }
}
