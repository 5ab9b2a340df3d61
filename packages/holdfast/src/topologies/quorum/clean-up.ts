/** Releases that go on in the background, on each of several servers for itself. */

import type { CleanUp, Protocol, ReleaseTerms } from '../old-topology.ts';
import type { QuorumNode } from './node.ts';

export class QuorumCleanUp implements CleanUp {
  readonly #nodes: readonly QuorumNode[];

  constructor(nodes: readonly QuorumNode[]) {
    this.#nodes = nodes;
  }

  get size(): number {
    return Math.max(...this.#nodes.map(({ lateReleases }) => lateReleases.size));
  }

  /** Each server knows its own unanswered requests. */
  add(protocol: Protocol, terms: ReleaseTerms): void {
    for (const node of this.#nodes) node.abandon(protocol, terms);
  }

  async flush(): Promise<void> {
    await Promise.all(this.#nodes.map(({ lateReleases }) => lateReleases.flush()));
  }

  stop(): void {
    for (const { lateReleases } of this.#nodes) lateReleases.stop();
  }
}
