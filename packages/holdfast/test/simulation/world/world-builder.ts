/** Makes the nodes and the processes of a world. */

import type { ScriptEngine } from '../../../../testing/src/lua/script-engine.ts';
import type { CallFailure, Client, Clock, Reply, ScriptCall } from '../../../src/index.ts';
import type { PlantedBug } from '../planted/bug.ts';
import type { Terms } from '../terms.ts';
import type { FaultSelection } from './fault-selection.ts';
import { Machine } from './machine.ts';
import { MessageFaults } from './message-faults.ts';
import type { Prng } from './prng.ts';
import { SimulatedProcess } from './process.ts';
import { SimulatedClient } from './simulated-client.ts';
import { SimulatedNode } from './simulated-node.ts';
import type { Timeline } from './timeline.ts';

export interface World {
  readonly timeline: Timeline;
  readonly prng: Prng;
  readonly terms: Terms;
}

export interface CallObserver {
  sent(who: string, call: ScriptCall): void;
  arrived(node: SimulatedNode, call: ScriptCall): void;
  answered(who: string, call: ScriptCall, answer: Reply | CallFailure): void;
  resynced(who: string): void;
  served(who: string, node: SimulatedNode, call: ScriptCall, answer: Reply | CallFailure): void;
}

const EPOCH_MS = Date.UTC(2030, 0, 1);

/** How far the wall clocks of nodes and of processes are apart at the beginning. */
const NODE_APART_MS = 1_000;
/** Of several: not at all, as far as a request takes, about as far as fences can begin from one time, and further. */
const NODES_APART_MS: readonly number[] = [0, 2, 100, 1_000];
const PROCESSES_APART_MS = 3_000;

/** From a process on another continent, one way. */
const FAR_MS: readonly number[] = [10, 15, 20];

/** Two clocks never differ by more than this share: less than the margin that every lease keeps. */
const DRIFT_SHARE = 0.008;

export class WorldBuilder {
  readonly #world: World;
  readonly #selection: FaultSelection;
  readonly #engine: ScriptEngine;
  readonly #bug: PlantedBug | undefined;
  readonly #observer: CallObserver;

  constructor(
    world: World,
    selection: FaultSelection,
    engine: ScriptEngine,
    bug: PlantedBug | undefined,
    observer: CallObserver,
  ) {
    this.#world = world;
    this.#selection = selection;
    this.#engine = engine;
    this.#bug = bug;
    this.#observer = observer;
  }

  makeNodes(): SimulatedNode[] {
    const { timeline, prng, terms } = this.#world;
    const apartMs = terms.nodes === 1 ? NODE_APART_MS : prng.pick(NODES_APART_MS);
    return Array.from({ length: terms.nodes }, (_, i) => {
      const wallMs = EPOCH_MS + prng.between(-apartMs, apartMs);
      return new SimulatedNode(`node${i + 1}`, timeline, prng.fork(), this.#engine, this.#rate(), wallMs);
    });
  }

  makeProcesses(nodes: readonly SimulatedNode[]): SimulatedProcess[] {
    return Array.from({ length: this.#world.terms.processes }, (_, i) => this.#makeProcess(i, nodes));
  }

  #makeProcess(place: number, nodes: readonly SimulatedNode[]): SimulatedProcess {
    const name = `p${place + 1}`;
    const { timeline, terms } = this.#world;
    const { faults } = this.#selection;
    const prng = this.#world.prng.fork();
    const wallMs = EPOCH_MS + prng.between(-PROCESSES_APART_MS, PROCESSES_APART_MS);
    const machine = new Machine(timeline, prng, { rate: this.#rate(), wallMs });
    const network = terms.network(faults);
    const isFar = faults.has('far process') && prng.chance(0.4);
    const conditions = isFar ? { ...network, latenciesMs: FAR_MS } : network;
    const messages = new MessageFaults(faults, prng.fork());
    const clients = nodes.map(
      (node) =>
        new SimulatedClient({ timeline, machine, node, prng: prng.fork(), messages }, conditions, {
          hasSubscriber: terms.hasSubscriber,
          resends: faults.has('resend') && prng.chance(0.5),
          onSent: (call) => this.#observer.sent(name, call),
          onAnswered: (call, answer) => this.#observer.answered(name, call, answer),
          onArrived: (call) => this.#observer.arrived(node, call),
          onResynced: () => this.#observer.resynced(name),
          onServed: (call, answer) => this.#observer.served(name, node, call, answer),
        }),
    );
    const seams: Client[] = clients.map((client) => this.#bug?.client?.(client, machine) ?? client);
    const clock: Clock = this.#bug?.clock?.(machine) ?? machine;
    const lingerMs = terms.lingersMs[place % terms.lingersMs.length] ?? 0;
    const options = { ...terms.options, lingerMs, ...this.#bug?.options, clock, random: prng.fork() };
    return new SimulatedProcess(name, machine, clients, seams, options);
  }

  #rate(): number {
    if (!this.#selection.faults.has('drift')) return 1;
    return 1 + (this.#world.prng.fraction() - 0.5) * DRIFT_SHARE;
  }
}
