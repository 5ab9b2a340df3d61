/**
 * Which channels carry wake-ups in a cluster, when nobody has said. As Redisson does by default, so that both use the
 * same: those of the shards where the first node that answers knows them, and plain ones where it does not.
 *
 * A node that is busy, full or silent has not answered that. Plain channels will do until one has, and it is asked
 * for again while calls come: one bad moment must not part this process from all others for the rest of its life.
 */
import { CallFailure } from '../../clients/client.ts';
import type { NodeAddress } from '../../clients/cluster/address.ts';
import type { Clock } from '../../runtime/clock.ts';
import { detached } from '../../runtime/detached.ts';
import type { PubSub } from '../old-topology.ts';

/** What is too much for a server now may be over in a second. */
export const AGAIN_MS_MIN = 1_000;

/** A server that never gives an answer that we understand is bothered once a minute. */
export const AGAIN_MS_MAX = 60_000;

const QUESTION = ['PUBSUB', 'SHARDNUMSUB', '0'];

/** Servers before 7 say `Unknown subcommand or wrong number of arguments`. */
const UNKNOWN_COMMAND = /^ERR unknown (sub)?command/i;

export interface ChannelChoiceTerms {
  /** Whom to ask, one after the other. */
  nodes(): readonly NodeAddress[];
  /** Gives the reply, or why there was none. */
  ask(node: NodeAddress, question: readonly string[]): Promise<unknown>;
  /** Other channels than so far. */
  changed(): void;
}

export class ChannelChoice {
  readonly #clock: Clock;
  readonly #terms: ChannelChoiceTerms;
  #how: PubSub | null;
  #isFinal: boolean;
  #isAsking = false;
  #againAtMs = 0;
  #pauseMs = AGAIN_MS_MIN;

  constructor(given: PubSub | 'auto', clock: Clock, terms: ChannelChoiceTerms) {
    this.#how = given === 'auto' ? null : given;
    this.#isFinal = this.#how !== null;
    this.#clock = clock;
    this.#terms = terms;
  }

  /** Means something once it is made. */
  get how(): PubSub {
    return this.#how ?? 'plain';
  }

  /** For now, or for good. */
  get isMade(): boolean {
    return this.#how !== null;
  }

  async make(): Promise<void> {
    if (this.#isFinal || this.#isAsking) return;
    this.#isAsking = true;
    const before = this.#how;
    try {
      const told = await this.#ask();
      this.#isFinal = told !== null;
      this.#how = told ?? 'plain';
    } finally {
      this.#isAsking = false;
      this.#againAtMs = this.#clock.monotonicMs() + this.#pauseMs;
      this.#pauseMs = Math.min(2 * this.#pauseMs, AGAIN_MS_MAX);
    }
    if (before !== null && before !== this.#how) this.#terms.changed();
  }

  /** Asks again in the background, if it was made for now and some time has passed. */
  reconsider(): void {
    if (this.#isFinal || this.#isAsking || this.#clock.monotonicMs() < this.#againAtMs) return;
    void detached(() => this.make());
  }

  /** Null when nobody has told. */
  async #ask(): Promise<PubSub | null> {
    for (const node of this.#terms.nodes()) {
      const told = await this.#terms.ask(node, QUESTION);
      if (!(told instanceof CallFailure)) return 'sharded';
      if (told.word === 'NOPERM' || UNKNOWN_COMMAND.test(told.text)) return 'plain';
    }
    return null;
  }
}
