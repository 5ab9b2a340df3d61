/**
 * Which channels carry wake-ups in a cluster when the options leave it open. As Redisson does by default, so that both
 * use the same: channels of the shards where the first node that answers knows them, plain ones where it does not.
 *
 * A node that is busy, full or silent has not answered that question. Until a node has, plain channels will do, and the
 * question is asked again while calls come: one bad moment must not part this process from all others for good.
 */
import { CallFailure } from '../../clients/client.ts';
import type { NodeAddress } from '../../clients/cluster/address.ts';
import type { Clock } from '../../runtime/clock.ts';
import { detached } from '../../runtime/detached.ts';
import type { PubSubMode } from '../protocol.ts';

/** How soon the question is asked again at first: a server that is overloaded now may answer in a second. */
export const AGAIN_MS_MIN = 1_000;

/** How soon the question is asked again at last: a server that never gives an answer that we understand is asked once a minute. */
export const AGAIN_MS_MAX = 60_000;

const QUESTION = ['PUBSUB', 'SHARDNUMSUB', '0'];

/** Servers before 7 say `Unknown subcommand or wrong number of arguments`. */
const UNKNOWN_COMMAND = /^ERR unknown (sub)?command/i;

export interface PubSubModeTerms {
  /** Whom to ask, one after the other. */
  nodes(): readonly NodeAddress[];
  /** Gives the reply, or why there was none. */
  ask(node: NodeAddress, question: readonly string[]): Promise<unknown>;
  /** The mode is another one than so far. */
  changed(): void;
}

export class PubSubModeChoice {
  readonly #clock: Clock;
  readonly #terms: PubSubModeTerms;
  #mode: PubSubMode | null;
  #isFinal: boolean;
  #isAsking = false;
  #againAtMs = 0;
  #pauseMs = AGAIN_MS_MIN;

  constructor(given: PubSubMode | 'auto', clock: Clock, terms: PubSubModeTerms) {
    this.#mode = given === 'auto' ? null : given;
    this.#isFinal = this.#mode !== null;
    this.#clock = clock;
    this.#terms = terms;
  }

  /** Means something once the choice is made. */
  get mode(): PubSubMode {
    return this.#mode ?? 'plain';
  }

  /** For now, or for good. */
  get isMade(): boolean {
    return this.#mode !== null;
  }

  async make(): Promise<void> {
    if (this.#isFinal || this.#isAsking) return;
    this.#isAsking = true;
    const before = this.#mode;
    try {
      const told = await this.#ask();
      this.#isFinal = told !== null;
      this.#mode = told ?? 'plain';
    } finally {
      this.#isAsking = false;
      this.#againAtMs = this.#clock.monotonicMs() + this.#pauseMs;
      this.#pauseMs = Math.min(2 * this.#pauseMs, AGAIN_MS_MAX);
    }
    if (before !== null && before !== this.#mode) this.#terms.changed();
  }

  /** Asks again in the background, if the choice was made for now only and some time has passed. */
  reconsider(): void {
    if (this.#isFinal || this.#isAsking || this.#clock.monotonicMs() < this.#againAtMs) return;
    void detached(() => this.make());
  }

  /** Null when no node has answered the question. */
  async #ask(): Promise<PubSubMode | null> {
    for (const node of this.#terms.nodes()) {
      const told = await this.#terms.ask(node, QUESTION);
      if (!(told instanceof CallFailure)) return 'sharded';
      if (told.word === 'NOPERM' || UNKNOWN_COMMAND.test(told.text)) return 'plain';
    }
    return null;
  }
}
