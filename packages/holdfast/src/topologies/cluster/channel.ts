/**
 * One channel heard at the node that has its slot, wherever the slot goes. Plain channels too: the message is sent by a
 * script on that node, so the script knows how many have heard it, and the message need not travel through the cluster.
 */
import { CallFailure, type StopListening, type Wake } from '../../clients/client.ts';
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import type { PubSubMode } from '../protocol.ts';
import type { ClusterNode } from './node.ts';
import { redirectionOf } from './redirection.ts';

/** Which node has a channel. */
export interface ChannelLocator {
  /** On which kind of channels messages are sent now. */
  pubSubMode(): PubSubMode;
  ownerOf(channel: string): ClusterNode | null;
  /** A node has said that the slot of the channel is at another node. */
  redirected(slot: number, to: ClusterNode['address']): void;
}

/** How often a map that changes while we ask is followed. */
const MOVES_MAX = 5;

/** A node that has taken over may not let us in yet. Whoever waits polls meanwhile. */
const FOLLOW_AGAIN_MS = 500;

export class ClusterChannel {
  readonly #name: string;
  readonly #wake: Wake;
  readonly #timeoutMs: number;
  readonly #locator: ChannelLocator;
  readonly #timers: TimerQueue;
  readonly #again = new Deadline(() => void this.follow(), false);
  #node: ClusterNode | null = null;
  #mode: PubSubMode | null = null;
  #stops: readonly StopListening[] = [];
  #isMoving = false;
  #isOver = false;

  constructor(name: string, wake: Wake, timeoutMs: number, locator: ChannelLocator, timers: TimerQueue) {
    this.#timers = timers;
    this.#name = name;
    this.#wake = wake;
    this.#timeoutMs = timeoutMs;
    this.#locator = locator;
  }

  /** Resolves to null when the node that has the channel has confirmed, or to why it did not. */
  async open(): Promise<CallFailure | null> {
    let failure = new CallFailure('unreachable', 'no node of the cluster is known to have this channel');
    for (let moves = 0; moves < MOVES_MAX && !this.#isOver; moves += 1) {
      const node = this.#locator.ownerOf(this.#name);
      if (node === null) return failure;
      const refused = await this.#openAt(node);
      if (refused === null) return null;
      failure = refused;
      if (!this.#isRedirected(node, refused)) return refused;
    }
    return failure;
  }

  /** The map or the pub/sub mode has changed, or the node refuses the channel. Messages may have been missed meanwhile. */
  async follow(): Promise<void> {
    if (this.#isMoving || this.#isOver || this.#stops.length === 0) return;
    const owner = this.#locator.ownerOf(this.#name);
    if (owner === null || (owner === this.#node && this.#locator.pubSubMode() === this.#mode)) return;
    this.#isMoving = true;
    const failure = await this.open();
    this.#isMoving = false;
    if (this.#isOver) return;
    this.#wake(null);
    if (failure === null) await this.follow();
    else this.#timers.setIn(this.#again, FOLLOW_AGAIN_MS);
  }

  /** The node where the channel was heard does not have its slot any more. */
  refused(node: ClusterNode, failure: CallFailure): void {
    if (this.#node === node && this.#isRedirected(node, failure)) void this.follow();
  }

  close(): void {
    this.#isOver = true;
    this.#timers.cancel(this.#again);
    this.#stop();
  }

  async #openAt(node: ClusterNode): Promise<CallFailure | null> {
    const mode = this.#locator.pubSubMode();
    const modes = mode === 'both' ? (['plain', 'sharded'] as const) : [mode];
    const asking = modes.map((each) => node.listen(each, this.#name, this.#wake, this.#timeoutMs));
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
    // The old subscription ends only now: hearing a message twice is better than missing one.
    this.#stop();
    this.#stops = stops;
    this.#node = node;
    this.#mode = mode;
    return null;
  }

  #stop(): void {
    for (const stop of this.#stops) stop();
    this.#stops = [];
  }

  #isRedirected(node: ClusterNode, failure: CallFailure): boolean {
    const redirection = redirectionOf(failure, node.address);
    if (redirection?.is !== 'moved') return false;
    this.#locator.redirected(redirection.slot, redirection.to);
    return true;
  }
}
