/**
 * One channel heard on several servers. An owner's release is published wherever the owner had a vote, so whoever hears
 * a majority hears every release. A server that comes up later is listened to from then on.
 */
import { CallFailure, type StopListening, type Wake } from '../../clients/client.ts';
import { count, countPending, decide } from './majority.ts';
import type { QuorumNode } from './node.ts';

type Listened = { readonly is: 'heard' } | { readonly is: 'deaf'; readonly failure: CallFailure };

export class QuorumChannel {
  readonly #name: string;
  readonly #wake: Wake;
  readonly #timeoutMs: number;
  readonly #stops = new Map<QuorumNode, StopListening>();
  readonly #asking = new Set<QuorumNode>();
  #isOver = false;

  constructor(name: string, wake: Wake, timeoutMs: number) {
    this.#name = name;
    this.#wake = wake;
    this.#timeoutMs = timeoutMs;
  }

  /** Resolves to null when a majority has confirmed, or to why not. */
  open(nodes: readonly QuorumNode[], majority: number): Promise<CallFailure | null> {
    const asking = nodes.map((node) => this.#listen(node));
    return decide<Listened, CallFailure | null>(asking, (answers) => {
      if (count(answers, 'heard') >= majority) return null;
      if (count(answers, 'heard') + countPending(answers) >= majority) return undefined;
      const deaf = answers.find((answer) => answer?.is === 'deaf');
      return deaf?.is === 'deaf' ? deaf.failure : undefined;
    });
  }

  /** A server is up again. Messages that it published meanwhile may have been missed. */
  async join(node: QuorumNode): Promise<void> {
    if (this.#isOver || this.#stops.has(node) || this.#asking.has(node)) return;
    const { is } = await this.#listen(node);
    if (is === 'heard' && !this.#isOver) this.#wake(null);
  }

  close(): void {
    this.#isOver = true;
    for (const stop of this.#stops.values()) stop();
    this.#stops.clear();
  }

  async #listen(node: QuorumNode): Promise<Listened> {
    const { absence } = node.health;
    if (absence !== null) {
      return { is: 'deaf', failure: new CallFailure('unreachable', absence.text) };
    }
    this.#asking.add(node);
    const stop = await node.listen(this.#name, this.#wake, this.#timeoutMs);
    this.#asking.delete(node);
    if (stop instanceof CallFailure) return { is: 'deaf', failure: stop };
    if (this.#isOver) stop();
    else this.#stops.set(node, stop);
    return { is: 'heard' };
  }
}
