/**
 * Which node of a cluster has which slot, as far as we know. Learnt when it is first needed, put right by each
 * redirection, and asked for anew when a node cannot be reached. It may be wrong at any time: a node that does not
 * have a slot says so, so a wrong map costs a round trip and nothing else.
 */

import { SLOTS } from '../../keys/slot.ts';
import type { Random } from '../../runtime/random.ts';
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import { CallFailure } from '../client.ts';
import { failureOf } from '../connection/reply-errors.ts';
import { oneCommand } from '../one-command.ts';
import { addressKey, type NodeAddress } from './address.ts';
import { type ClusterDriver, driveNode } from './cluster-driver.ts';
import { nodesOf, readSlotRanges, type SlotRange } from './slot-ranges.ts';

/** A node that has not answered for this long is not waited for alone: the next one is asked beside it. */
const HEDGE_MS = 250;

/** Nodes hear of a failover within this of each other; asking more often finds nothing new. */
const FRESH_MS = 100;

export interface SlotMapTerms {
  /** Some slots have another node than before. */
  changed(): void;
  /** Ends questions that are under way. */
  readonly signal: AbortSignal;
}

export class SlotMap {
  readonly #driver: ClusterDriver;
  readonly #timers: TimerQueue;
  readonly #random: Random;
  readonly #terms: SlotMapTerms;
  readonly #owners = new Array<NodeAddress | undefined>(SLOTS).fill(undefined);
  #nodes: readonly NodeAddress[] = [];
  #isKnown = false;
  #readMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<CallFailure | null> | null = null;

  constructor(driver: ClusterDriver, timers: TimerQueue, random: Random, terms: SlotMapTerms) {
    this.#driver = driver;
    this.#timers = timers;
    this.#random = random;
    this.#terms = terms;
  }

  /** Whether a node has ever told the map. Slots may be missing even so: no node had them, or none knew who did. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  ownerOf(slot: number): NodeAddress | undefined {
    return this.#owners[slot];
  }

  /** Every node that has slots, once each. */
  get owners(): readonly NodeAddress[] {
    const owners = this.#owners.filter((owner) => owner !== undefined);
    return [...new Map(owners.map((owner) => [addressKey(owner), owner])).values()];
  }

  /** A node has said where a slot is. */
  learn(slot: number, owner: NodeAddress): void {
    if (this.#set(slot, owner)) this.#terms.changed();
  }

  /** Asks the cluster for the map, unless that was done just now. Resolves to null, or to why no node told it. */
  read(avoided?: NodeAddress): Promise<CallFailure | null> {
    if (this.#reading === null && this.#timers.clock.monotonicMs() - this.#readMs < FRESH_MS) {
      return Promise.resolve(null);
    }
    this.#reading ??= this.#read(avoided).finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #read(avoided: NodeAddress | undefined): Promise<CallFailure | null> {
    const { obstacle } = this.#driver;
    if (obstacle !== null) return new CallFailure(obstacle.kind, obstacle.text);
    const told = await firstAnswer(this.#candidates(avoided), (node) => this.#ask(node), this.#timers);
    if (told instanceof CallFailure) return told;
    this.#readMs = this.#timers.clock.monotonicMs();
    this.#nodes = nodesOf(told);
    let hasChanged = false;
    for (const { first, last, primary } of told) {
      for (let slot = first; slot <= last; slot += 1) hasChanged = this.#set(slot, primary) || hasChanged;
    }
    this.#isKnown = true;
    if (hasChanged) this.#terms.changed();
    return null;
  }

  #set(slot: number, owner: NodeAddress): boolean {
    const before = this.#owners[slot];
    if (before !== undefined && addressKey(before) === addressKey(owner)) return false;
    this.#owners[slot] = owner;
    return true;
  }

  /** In random order, so that not all processes ask the same node; the node that just failed comes last. */
  #candidates(avoided: NodeAddress | undefined): NodeAddress[] {
    const all = [...this.#nodes, ...this.#driver.seeds()];
    const nodes = [...new Map(all.map((node) => [addressKey(node), node])).values()];
    const last = avoided === undefined ? '' : addressKey(avoided);
    const ranked = nodes.map((node) => ({
      node,
      rank: addressKey(node) === last ? 1 : this.#random.fraction(),
    }));
    return ranked.sort((a, b) => a.rank - b.rank).map(({ node }) => node);
  }

  async #ask(node: NodeAddress): Promise<SlotRange[] | CallFailure> {
    const driver = driveNode(this.#driver, node);
    const told = await oneCommand(driver, ['CLUSTER', 'SLOTS'], this.#timers, this.#terms.signal);
    if (told instanceof CallFailure) return told;
    const ranges = readSlotRanges(told, node);
    if (ranges === null || ranges.length === 0) {
      return new CallFailure(
        'unreachable',
        `${addressKey(node)} knows no slots: it is not part of a cluster`,
      );
    }
    return ranges;
  }
}

/** Asks one node after the other, beside those that take long, until one answers. */
function firstAnswer<Answer>(
  nodes: readonly NodeAddress[],
  ask: (node: NodeAddress) => Promise<Answer | CallFailure>,
  timers: TimerQueue,
): Promise<Answer | CallFailure> {
  return new Promise((resolve) => {
    const rest = [...nodes];
    let open = 0;
    let failure = new CallFailure('unreachable', 'no node of the cluster is known');
    const deadline = new Deadline(() => next(), true);
    const next = (): void => {
      timers.cancel(deadline);
      const node = rest.shift();
      if (node === undefined) {
        if (open === 0) resolve(failure);
        return;
      }
      open += 1;
      timers.setIn(deadline, HEDGE_MS);
      ask(node).then(heard, (error: unknown) => heard(failureOf(error, 'unreachable')));
    };
    const heard = (answer: Answer | CallFailure): void => {
      open -= 1;
      if (!(answer instanceof CallFailure)) {
        timers.cancel(deadline);
        rest.length = 0;
        resolve(answer);
        return;
      }
      failure = answer;
      next();
    };
    next();
  });
}
