/**
 * What is promised of a counter of fences: it lives until the clock of its node is `fenceTtlMs` past its last fence, so
 * until then the clock may do what it likes. Afterwards the clock may be set back by that much. Whoever sets it back to
 * before the last fence ends the promise.
 *
 * Looked at from outside: by the fences that were given out and by the clock, not by what is stored.
 */
import type { Grant } from '../call-text.ts';
import type { SimulatedNode } from '../world/simulated-node.ts';

/** A counter that lives for longer is there for as long as a world is. */
const SHORT_MS = 600_000;

export class CounterLife {
  readonly #fenceTtlMs: number;
  readonly #nodes: number;
  /** The last fence of each name on each node. */
  readonly #last = new Map<SimulatedNode, Map<string, number>>();

  constructor(fenceTtlMs: number, nodes: number) {
    this.#fenceTtlMs = fenceTtlMs;
    this.#nodes = nodes;
  }

  granted(node: SimulatedNode, { name, first, count }: Grant): void {
    const fences = this.#last.get(node) ?? new Map<string, number>();
    this.#last.set(node, fences);
    fences.set(name, Math.max(fences.get(name) ?? 0, first + count - 1));
  }

  /** Whether the next fence of a name may be smaller once the clock of the node has gone back from here to there. */
  endsWith(node: SimulatedNode, fromMs: number, toMs: number): boolean {
    if (this.#fenceTtlMs === 0) return false;
    // A fence of several nodes may come from any of their clocks.
    if (this.#nodes > 1) return this.#fenceTtlMs < SHORT_MS;
    const fences = [...(this.#last.get(node)?.values() ?? [])];
    return fences.some((last) => fromMs >= last / 1_000 + this.#fenceTtlMs && toMs <= last / 1_000);
  }
}
