/** Looks, once the world is calm, for locks that a living process has on a node and nobody in it knows of. */
import type { Grant } from '../call-text.ts';
import type { SimulatedProcess } from '../world/process.ts';
import type { SimulatedNode } from '../world/simulated-node.ts';
import type { Judge } from './judge.ts';

/** A grant on its way to its caller, or a release on its way to the node, takes less. */
const ORPHAN_MS_MAX = 1_500;

export class OrphanWatch {
  readonly #judge: Judge;
  readonly #nodes: readonly SimulatedNode[];
  readonly #names: readonly string[];
  readonly #processes: readonly SimulatedProcess[];
  /** The fences of each holder. */
  readonly #blocks = new Map<string, { first: number; last: number }>();
  /** Since when each holder has been seen without an owner. */
  readonly #sinceMs = new Map<string, number>();

  constructor(
    judge: Judge,
    nodes: readonly SimulatedNode[],
    names: readonly string[],
    processes: readonly SimulatedProcess[],
  ) {
    this.#judge = judge;
    this.#nodes = nodes;
    this.#names = names;
    this.#processes = processes;
  }

  grant({ holder, first, count }: Grant): void {
    const last = first + count - 1;
    const known = this.#blocks.get(holder) ?? { first, last };
    // A repeated request is answered with a part of what the first one was given.
    this.#blocks.set(holder, { first: Math.min(known.first, first), last: Math.max(known.last, last) });
  }

  look(nowMs: number): void {
    for (const node of this.#nodes) {
      node.state.tick();
      for (const name of this.#names) {
        const value = node.state.databases[0]?.entry(name)?.value;
        if (value?.type === 'hash')
          for (const holder of value.fields.keys()) this.#lookAt(holder, name, nowMs);
      }
    }
  }

  #lookAt(holder: string, name: string, nowMs: number): void {
    const isLiving = this.#processes.some(
      ({ locks, hasLeft }) => !hasLeft && holder.startsWith(locks.session),
    );
    const block = this.#blocks.get(holder);
    if (!isLiving || block === undefined || this.#isOwned(name, block)) {
      this.#sinceMs.delete(holder);
      return;
    }
    const sinceMs = this.#sinceMs.get(holder) ?? nowMs;
    this.#sinceMs.set(holder, sinceMs);
    if (nowMs - sinceMs > ORPHAN_MS_MAX)
      this.#judge.condemn('left', `${name} is locked by ${holder}, and nobody owns it`);
  }

  #isOwned(name: string, block: { first: number; last: number }): boolean {
    for (const { fence = 0 } of this.#judge.claims(name)) {
      if (fence >= block.first && fence <= block.last) return true;
    }
    return false;
  }
}
