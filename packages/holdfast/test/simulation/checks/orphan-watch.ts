/** Looks, once the world is calm, for locks that a living process has on a node and nobody in it knows of. */
import type { Grant } from '../call-text.ts';
import type { SimulatedProcess } from '../world/process.ts';
import type { SimulatedNode } from '../world/simulated-node.ts';
import type { Judge } from './judge.ts';
import { ownerOf } from './line-state.ts';

/** What is known of a holder. */
export interface KnownHolders {
  processOf(holder: string): SimulatedProcess | undefined;
  /** Whether nobody need own it. */
  mayKeep(holder: string): boolean;
}

/** A grant on its way to its caller, or a release on its way to the node, takes less. */
const ORPHAN_MS_MAX = 1_500;

export class OrphanWatch {
  readonly #judge: Judge;
  readonly #nodes: readonly SimulatedNode[];
  readonly #names: readonly string[];
  readonly #holders: KnownHolders;
  /** The fences of each holder. */
  readonly #blocks = new Map<string, { first: number; last: number }>();
  /** Since when each holder has been seen without an owner. */
  readonly #sinceMs = new Map<string, number>();

  constructor(
    judge: Judge,
    nodes: readonly SimulatedNode[],
    names: readonly string[],
    holders: KnownHolders,
  ) {
    this.#judge = judge;
    this.#nodes = nodes;
    this.#names = names;
    this.#holders = holders;
  }

  grant({ holder, first, count }: Grant): void {
    const last = first + count - 1;
    const known = this.#blocks.get(holder) ?? { first, last };
    // A repeated request is answered with a part of what the first one was given.
    this.#blocks.set(holder, { first: Math.min(known.first, first), last: Math.max(known.last, last) });
  }

  look(nowMs: number): void {
    for (const name of this.#names) {
      const left = this.leftOn(name, nowMs);
      if (left !== null) this.#judge.condemn('left', `${name} is locked by ${left}, and nobody owns it`);
    }
  }

  /** The holder that has been left on a node under that name for longer than a call takes, if there is one. */
  leftOn(name: string, nowMs: number): string | null {
    let left: string | null = null;
    for (const node of this.#nodes) {
      node.state.tick();
      const owner = ownerOf(node, name);
      if (owner !== null && this.#isLeft(owner, name, nowMs)) left = owner;
    }
    return left;
  }

  #isLeft(holder: string, name: string, nowMs: number): boolean {
    const process = this.#holders.processOf(holder);
    const isLeft =
      process !== undefined &&
      !process.hasLeft &&
      !this.#isOwned(name, holder, process) &&
      !this.#holders.mayKeep(holder);
    if (!isLeft) {
      this.#sinceMs.delete(holder);
      return false;
    }
    const sinceMs = this.#sinceMs.get(holder) ?? nowMs;
    this.#sinceMs.set(holder, sinceMs);
    return nowMs - sinceMs > ORPHAN_MS_MAX;
  }

  #isOwned(name: string, holder: string, process: SimulatedProcess): boolean {
    const block = this.#blocks.get(holder);
    for (const { fence, process: owner } of this.#judge.claims(name)) {
      // A mutex has no fences: any lease of that process may be the one.
      const isIts =
        block === undefined || fence === undefined || (fence >= block.first && fence <= block.last);
      if (owner === process && isIts) return true;
    }
    return false;
  }
}
