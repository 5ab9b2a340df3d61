/**
 * The way between a client and a node: like TCP, in order in both directions, and never sure of anything.
 *
 * - `up`: what is written arrives, in order. Out: `down` (a cut), `half-open`.
 * - `half-open`: nothing arrives in either direction, and nobody has noticed. Out: `down`.
 * - `down`: nothing can be written. Out: `up`, when a new connection has come about.
 */

import type { NodeReply } from '../../../../testing/src/protocol/reply.ts';
import type { NodeConnection } from '../../../../testing/src/state/connection.ts';
import type { Machine } from './machine.ts';
import type { MessageFaults } from './message-faults.ts';
import type { Prng } from './prng.ts';
import type { SimulatedNode } from './simulated-node.ts';
import type { Timeline } from './timeline.ts';

export interface NetworkConditions {
  /** Times on the way, of which one is picked for each message. */
  readonly latenciesMs: readonly number[];
  /** What becomes of a message that is on its way when the connection is cut: the chance that it still arrives. */
  readonly strayChance: number;
  /** And how much later it may be. */
  readonly strayMsMax: number;
}

export interface SocketEvents {
  up(): void;
  down(): void;
  message(reply: NodeReply): void;
}

const RECONNECT_MS: readonly number[] = [1, 5, 20, 100, 300];
const RETRY_MS = 50;

export class SimulatedSocket {
  readonly node: SimulatedNode;
  readonly #machine: Machine;
  readonly #timeline: Timeline;
  readonly #prng: Prng;
  readonly #network: NetworkConditions;
  readonly #messages: MessageFaults;
  readonly #events: SocketEvents;
  #state: 'up' | 'half-open' | 'down' = 'down';
  #connection: NodeConnection | null = null;
  #generation = 0;
  #requestsUntilMs = 0;
  #repliesUntilMs = 0;
  #isClosed = false;
  #connections = 0;
  #troubles = 0;

  constructor(
    world: {
      readonly timeline: Timeline;
      readonly machine: Machine;
      readonly node: SimulatedNode;
      readonly prng: Prng;
      readonly messages: MessageFaults;
    },
    network: NetworkConditions,
    events: SocketEvents,
  ) {
    this.node = world.node;
    this.#machine = world.machine;
    this.#timeline = world.timeline;
    this.#prng = world.prng;
    this.#network = network;
    this.#messages = world.messages;
    this.#events = events;
    this.#dial();
  }

  /** Whether something can be written, as far as this side knows. */
  get isWritable(): boolean {
    return this.#state !== 'down' && !this.#isClosed;
  }

  /** How many connections there have been. */
  get connections(): number {
    return this.#connections;
  }

  /** How often something came between what the node sends and this side so far: what was sent since may be lost, or late. */
  get troubles(): number {
    return this.#troubles;
  }

  /** Whether what the node sends now comes in the usual time, unless there is trouble. */
  get isClear(): boolean {
    const usualMs = Math.max(...this.#network.latenciesMs) + 1;
    return this.#state === 'up' && this.#repliesUntilMs <= this.#timeline.nowMs + usualMs;
  }

  /** Writes a request: `serve` runs at the node, what it returns is given to `answered` in this process, if it gets here. */
  write<Answer>(serve: (connection: NodeConnection) => Answer, answered: (answer: Answer) => void): void {
    if (this.#state !== 'up') return;
    const generation = this.#generation;
    const arriveMs = Math.max(this.#requestsUntilMs, this.#timeline.nowMs + this.#latency());
    this.#requestsUntilMs = arriveMs;
    const strayMs = this.#prng.chance(this.#network.strayChance)
      ? this.#prng.between(0, this.#network.strayMsMax)
      : -1;
    this.#timeline.at(arriveMs, () => {
      const isCut = generation !== this.#generation;
      if (isCut && strayMs < 0) return;
      if (!isCut) return this.node.perform(() => this.#serve(generation, serve, answered));
      this.#timeline.after(strayMs, () => this.node.perform(() => this.#serve(generation, serve, answered)));
    });
  }

  /** Nothing moves for a while. */
  stall(ms: number): void {
    this.#troubles += 1;
    this.#requestsUntilMs = Math.max(this.#requestsUntilMs, this.#timeline.nowMs + ms);
    this.#repliesUntilMs = Math.max(this.#repliesUntilMs, this.#timeline.nowMs + ms);
  }

  /** The connection is lost, and both sides know. */
  cut(): void {
    if (this.#state === 'down' || this.#isClosed) return;
    this.#drop();
    this.#machine.perform(() => this.#events.down());
    this.#timeline.after(this.#prng.pick(RECONNECT_MS), () => this.#dial());
  }

  /** The connection is lost, and nobody knows for a while. */
  hang(noticedAfterMs: number): void {
    if (this.#state !== 'up' || this.#isClosed) return;
    this.#state = 'half-open';
    this.#troubles += 1;
    this.#generation += 1;
    const generation = this.#generation;
    this.#timeline.after(noticedAfterMs, () => {
      if (generation === this.#generation) this.cut();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#drop();
  }

  #drop(): void {
    this.#troubles += 1;
    this.#state = 'down';
    this.#generation += 1;
    if (this.#connection !== null) this.node.state.disconnect(this.#connection);
    this.#connection = null;
  }

  #dial(): void {
    if (this.#isClosed || this.#machine.state === 'dead') return;
    if (!this.node.isUp || this.#machine.state !== 'running') {
      this.#timeline.after(RETRY_MS, () => this.#dial());
      return;
    }
    this.#state = 'up';
    this.#connections += 1;
    this.#generation += 1;
    const generation = this.#generation;
    this.#requestsUntilMs = this.#timeline.nowMs;
    this.#repliesUntilMs = this.#timeline.nowMs;
    this.#connection = this.node.connect({
      address: 'simulated',
      deliver: (reply) => this.#deliver(generation, reply),
      close: () => this.cut(),
    });
    // As our own connections do: one that listens may go on asking.
    this.#connection.protocol = 3;
    this.#events.up();
  }

  #serve<Answer>(
    generation: number,
    serve: (connection: NodeConnection) => Answer,
    answered: (answer: Answer) => void,
  ): void {
    if (!this.node.isUp) return;
    if (generation === this.#generation && this.#connection !== null) {
      const answer = serve(this.#connection);
      this.#reply(generation, () => answered(answer));
      return;
    }
    // A request that comes behind the end of its connection is served all the same, because some proxy had it; but not
    // on the connection that came after: what it subscribes to goes with its own.
    const gone = this.node.connect({ address: 'gone', deliver: () => {}, close: () => {} });
    serve(gone);
    this.node.state.disconnect(gone);
  }

  /** A message comes once and in time, unless a fault has it otherwise. */
  #deliver(generation: number, message: NodeReply): void {
    const take = (): void => this.#events.message(message);
    const delaysMs = this.#messages.delaysMs();
    if (delaysMs[0] !== 0) this.#troubles += 1;
    for (const delayMs of delaysMs) {
      if (delayMs === 0) this.#reply(generation, take);
      else this.#timeline.after(delayMs, () => this.#reply(generation, take));
    }
  }

  #reply(generation: number, take: () => void): void {
    const arriveMs = Math.max(this.#repliesUntilMs, this.#timeline.nowMs + this.#latency());
    this.#repliesUntilMs = arriveMs;
    this.#timeline.at(arriveMs, () => {
      if (generation === this.#generation) this.#machine.perform(take);
    });
  }

  #latency(): number {
    // Never nothing at all: two messages on two connections must not depend on the order of their writing.
    return this.#prng.pick(this.#network.latenciesMs) + this.#prng.fraction() / 8;
  }
}
