/**
 * One channel heard at the node that has its slot, wherever that goes. Plain channels too: the message is sent by a
 * script on that node, which then knows how many have heard it, and it need not travel through the cluster.
 */
import { CallFailure, type StopListening, type Wake } from '../../clients/client.ts';
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import type { PubSub } from '../old-topology.ts';
import type { ClusterNode } from './node.ts';
import { redirectionOf } from './redirection.ts';

/** Where channels are. */
export interface Whereabouts {
  /** On which channels messages are sent now. */
  how(): PubSub;
  ownerOf(channel: string): ClusterNode | null;
  /** A node has said that the channel is elsewhere. */
  redirected(slot: number, to: ClusterNode['address']): void;
}

/** A map that changes while we ask is followed so often. */
const MOVES_MAX = 5;

/** A node that has taken over may not let us in yet. Whoever waits polls meanwhile. */
const FOLLOW_AGAIN_MS = 500;

export class ClusterChannel {
  readonly #name: string;
  readonly #wake: Wake;
  readonly #timeoutMs: number;
  readonly #whereabouts: Whereabouts;
  readonly #timers: TimerQueue;
  readonly #again = new Deadline(() => void this.follow(), false);
  #node: ClusterNode | null = null;
  #how: PubSub | null = null;
  #stops: readonly StopListening[] = [];
  #isMoving = false;
  #isOver = false;

  constructor(name: string, wake: Wake, timeoutMs: number, whereabouts: Whereabouts, timers: TimerQueue) {
    this.#timers = timers;
    this.#name = name;
    this.#wake = wake;
    this.#timeoutMs = timeoutMs;
    this.#whereabouts = whereabouts;
  }

  /** Resolves to null when the node that has the channel has confirmed, or to why it did not. */
  async open(): Promise<CallFailure | null> {
    let failure = new CallFailure('unreachable', 'no node of the cluster is known to have this channel');
    for (let moves = 0; moves < MOVES_MAX && !this.#isOver; moves += 1) {
      const node = this.#whereabouts.ownerOf(this.#name);
      if (node === null) return failure;
      const refused = await this.#openAt(node);
      if (refused === null) return null;
      failure = refused;
      if (!this.#isRedirected(node, refused)) return refused;
    }
    return failure;
  }

  /** The map or the kind of channel has changed, or the node refuses it. What was said meanwhile may have been missed. */
  async follow(): Promise<void> {
    if (this.#isMoving || this.#isOver || this.#stops.length === 0) return;
    const owner = this.#whereabouts.ownerOf(this.#name);
    if (owner === null || (owner === this.#node && this.#whereabouts.how() === this.#how)) return;
    this.#isMoving = true;
    const failure = await this.open();
    this.#isMoving = false;
    if (this.#isOver) return;
    this.#wake(null);
    if (failure === null) await this.follow();
    else this.#timers.setIn(this.#again, FOLLOW_AGAIN_MS);
  }

  /** The node where it was heard does not have it any more. */
  refused(node: ClusterNode, failure: CallFailure): void {
    if (this.#node === node && this.#isRedirected(node, failure)) void this.follow();
  }

  close(): void {
    this.#isOver = true;
    this.#timers.cancel(this.#again);
    this.#stop();
  }

  async #openAt(node: ClusterNode): Promise<CallFailure | null> {
    const how = this.#whereabouts.how();
    const ways = how === 'both' ? (['plain', 'sharded'] as const) : [how];
    const asking = ways.map((way) => node.listen(way, this.#name, this.#wake, this.#timeoutMs));
    const results = await Promise.all(asking);
    const stops: StopListening[] = [];
    let failure: CallFailure | null = null;
    for (const result of results) {
      if (result instanceof CallFailure) failure = result;
      else stops.push(result);
    }
    if (failure !== null || this.#isOver) {
      for (const stop of stops) stop();
      return failure;
    }
    // The old one is let go of only now: one that hears twice is better than one that hears nothing.
    this.#stop();
    this.#stops = stops;
    this.#node = node;
    this.#how = how;
    return null;
  }

  #stop(): void {
    for (const stop of this.#stops) stop();
    this.#stops = [];
  }

  #isRedirected(node: ClusterNode, failure: CallFailure): boolean {
    const redirection = redirectionOf(failure, node.address);
    if (redirection?.is !== 'moved') return false;
    this.#whereabouts.redirected(redirection.slot, redirection.to);
    return true;
  }
}
