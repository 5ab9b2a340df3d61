/** What the leader knows of the outboxes without asking: it alone writes them, so its own steps are enough. */
import type { Decision } from '../state/store.ts';
import type { Outcome, QueuedDelivery, Snapshot } from '../state/stored.ts';

/** Outcomes are kept for what the page shows beside each alert. */
const OUTCOMES_MAX = 2_000;

export class Ledger {
  readonly #outboxes: Map<string, QueuedDelivery[]>;
  /** By receiver and alert. The oldest are forgotten. */
  readonly #outcomes = new Map<string, Outcome>();

  constructor(snapshot: Pick<Snapshot, 'outboxes' | 'outcomes'>) {
    this.#outboxes = new Map([...snapshot.outboxes].map(([receiver, queue]) => [receiver, [...queue]]));
    for (const outcome of snapshot.outcomes) this.#remember(outcome);
  }

  get outboxes(): ReadonlyMap<string, readonly QueuedDelivery[]> {
    return this.#outboxes;
  }

  outcomeOf(receiver: string, key: string): Outcome | undefined {
    return this.#outcomes.get(`${receiver} ${key}`);
  }

  /** The receivers that have something new. */
  apply({ push, drop }: Decision): Set<string> {
    for (const { receiver, id } of drop) this.#remove(receiver, id);
    for (const delivery of push) {
      const queue = this.#outboxes.get(delivery.receiver) ?? [];
      this.#outboxes.set(delivery.receiver, queue);
      queue.push({ ...delivery, tries: 0, nextAtMs: 0, lastAtMs: null, error: null });
    }
    return new Set(push.map(({ receiver }) => receiver));
  }

  settle(outcome: Outcome, retryMs: number | null): void {
    this.#remember(outcome);
    const { receiver, id, tries, atMs, error } = outcome;
    if (retryMs === null) {
      this.#remove(receiver, id);
      return;
    }
    const queue = this.#outboxes.get(receiver) ?? [];
    const at = queue.findIndex((one) => one.id === id);
    const old = queue[at];
    if (old !== undefined) queue[at] = { ...old, tries, lastAtMs: atMs, nextAtMs: atMs + retryMs, error };
  }

  /** The age of the oldest message of each receiver that has any. */
  waiting(nowMs: number): { receiver: string; ageMs: number; error: string | null }[] {
    return [...this.#outboxes].flatMap(([receiver, [oldest]]) =>
      oldest === undefined ? [] : [{ receiver, ageMs: nowMs - oldest.queuedAtMs, error: oldest.error }],
    );
  }

  #remove(receiver: string, id: string): void {
    const queue = this.#outboxes.get(receiver) ?? [];
    this.#outboxes.set(
      receiver,
      queue.filter((one) => one.id !== id),
    );
  }

  #remember(outcome: Outcome): void {
    for (const key of outcome.keys) {
      this.#outcomes.delete(`${outcome.receiver} ${key}`);
      this.#outcomes.set(`${outcome.receiver} ${key}`, outcome);
    }
    for (const key of this.#outcomes.keys()) {
      if (this.#outcomes.size <= OUTCOMES_MAX) break;
      this.#outcomes.delete(key);
    }
  }
}
