/**
 * Watches the tickets that processes have in lines, and the processes that belong to them:
 *
 * - left: in calm times no ticket stands in a line whose process does not wait there;
 * - served: whose messages may have been missed asks again soon after.
 */
import type { SimulatedProcess } from '../world/process.ts';
import type { SimulatedNode } from '../world/simulated-node.ts';
import type { Judge } from './judge.ts';
import { lineKey, lineOf } from './line-state.ts';

/** A ticket on its way out of the line takes less. */
const TICKET_MS_MAX = 1_500;
/**
 * A ticket that nobody listens for is passed over, so it costs nobody a turn. The ask that a session made before it knew the server's
 * time cannot say until when it may be granted: if it arrives after its lease would have ended, nobody expects it, and its ticket
 * stands until its deadline.
 */
const DEAF_TICKET_MS_MAX = 15_000 + TICKET_MS_MAX;
/** From a subscription that is back until the waits that it is for ask again. */
const RESYNC_MS_MAX = 300;

/** What is known of who waits. */
export interface Waits {
  /** Which process asked under that holder. */
  processOf(holder: string): SimulatedProcess | undefined;
  isWaiting(process: SimulatedProcess, name: string): boolean;
}

export class TicketWatch {
  readonly #judge: Judge;
  readonly #node: SimulatedNode;
  readonly #names: readonly string[];
  readonly #waits: Waits;
  readonly #unwantedSinceMs = new Map<string, number>();
  /** Whose last ask for what was answered with a place in the line. */
  readonly #answered = new Set<string>();
  /** Who should ask again for what, since when. */
  readonly #resyncs = new Map<string, { process: SimulatedProcess; name: string; sinceMs: number }>();

  constructor(judge: Judge, node: SimulatedNode, names: readonly string[], waits: Waits) {
    this.#judge = judge;
    this.#node = node;
    this.#names = names;
    this.#waits = waits;
  }

  /** A process has been told that it may have missed messages. */
  resynced(process: SimulatedProcess, nowMs: number): void {
    for (const name of this.#names) {
      // An ask that is under way, or had no answer, is followed by another anyway.
      if (!this.#answered.has(`${process.name} ${name}`)) continue;
      const hasTicket = lineOf(this.#node, name).tickets.some(
        ({ holder }) => this.#waits.processOf(holder) === process,
      );
      if (!hasTicket || !this.#waits.isWaiting(process, name)) continue;
      this.#resyncs.set(`${process.name} ${name}`, { process, name, sinceMs: nowMs });
    }
  }

  /** An ask has its answer, or will have none. */
  answered({ name: who }: SimulatedProcess, name: string, isHeld: boolean): void {
    if (isHeld) this.#answered.add(`${who} ${name}`);
  }

  /** A process asks for a lock. */
  asked({ name: who }: SimulatedProcess, name: string): void {
    this.#answered.delete(`${who} ${name}`);
    this.#resyncs.delete(`${who} ${name}`);
  }

  /** At any time. */
  lookForAsks(nowMs: number): void {
    for (const [key, resync] of this.#resyncs) {
      const { process, name, sinceMs } = resync;
      const { machine, clients } = process;
      const canAsk = machine.state === 'running' && clients.every(({ isConnected }) => isConnected);
      const isOwner = [...this.#judge.claims(name)].some((tenure) => tenure.process === process);
      if (isOwner || !this.#waits.isWaiting(process, name)) this.#resyncs.delete(key);
      else if (!canAsk) resync.sinceMs = nowMs;
      else if (nowMs - sinceMs > RESYNC_MS_MAX)
        this.#judge.condemn(
          'served',
          `${process.name} may have missed messages and does not ask for ${name}`,
        );
    }
  }

  /** In calm times. */
  lookForLeft(nowMs: number): void {
    for (const name of this.#names) {
      for (const { holder, isHeard } of lineOf(this.#node, name).tickets) {
        const process = this.#waits.processOf(holder);
        const isUnwanted = process !== undefined && !process.hasLeft && !this.#waits.isWaiting(process, name);
        if (!isUnwanted) {
          this.#unwantedSinceMs.delete(holder);
          continue;
        }
        const sinceMs = this.#unwantedSinceMs.get(holder) ?? nowMs;
        this.#unwantedSinceMs.set(holder, sinceMs);
        if (nowMs - sinceMs > (isHeard ? TICKET_MS_MAX : DEAF_TICKET_MS_MAX))
          this.#judge.condemn(
            'left',
            `${process.name} does not wait for ${name}, and has a ticket in its line`,
          );
      }
    }
  }

  /** Everybody has gone, a while ago. */
  checkGone(): void {
    this.#node.state.tick();
    for (const name of this.#names) {
      if (this.#node.state.databases[0]?.entry(lineKey(name)) !== undefined)
        this.#judge.condemn('left', `the line of ${name} is still there`);
    }
  }
}
