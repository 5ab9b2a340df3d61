/** Everything that is watched about lines, where one node keeps them; and who has asked under which holder. */
import { CallFailure, type Reply, type ScriptCall } from '../../../src/index.ts';
import { lockAcquire, mutexAcquire } from '../../../src/scripts/generated.ts';
import { OUTCOMES } from '../../../src/scripts/outcome.ts';
import type { Terms } from '../terms.ts';
import type { SimulatedProcess } from '../world/process.ts';
import type { SimulatedNode } from '../world/simulated-node.ts';
import type { Judge } from './judge.ts';
import { ownerOf } from './line-state.ts';
import { LineWatch } from './line-watch.ts';
import { LingerWatch } from './linger-watch.ts';
import { TicketWatch } from './ticket-watch.ts';

/** The world, as far as lines are concerned. */
export interface LineWorld {
  readonly judge: Judge;
  readonly nodes: readonly SimulatedNode[];
  readonly names: readonly string[];
  readonly processes: readonly SimulatedProcess[];
  readonly terms: Terms;
  isWaiting(process: SimulatedProcess, name: string): boolean;
}

export class LineChecks {
  readonly #world: LineWorld;
  readonly #processes = new Map<string, SimulatedProcess>();
  readonly #line: LineWatch;
  readonly #tickets: TicketWatch;
  readonly #linger: LingerWatch;

  constructor(world: LineWorld) {
    this.#world = world;
    const { judge, nodes, names, terms } = world;
    this.#linger = new LingerWatch(judge, terms.callerLingersMs);
    this.#line = new LineWatch(judge, (holder) => this.#processes.has(holder));
    const waits = {
      processOf: (holder: string) => this.#processes.get(holder),
      isWaiting: (process: SimulatedProcess, name: string) => world.isWaiting(process, name),
    };
    this.#tickets = new TicketWatch(judge, nodes[0] as SimulatedNode, names, waits);
  }

  /** Which process has asked under that holder. */
  processOf(holder: string): SimulatedProcess | undefined {
    return this.#processes.get(holder);
  }

  /** Whether the process of that holder may keep it although nobody uses it. */
  mayKeep(holder: string): boolean {
    return this.#linger.mayKeep(holder);
  }

  /** A process that keeps a lock now although nobody uses it. */
  keeper(): SimulatedProcess | undefined {
    return this.#linger.keeper();
  }

  /** Whether a process that is gone has that name, until its lease ends. */
  isDead(name: string): boolean {
    return this.#world.nodes.some((node) => {
      const owner = ownerOf(node, name);
      return owner !== null && this.#processes.get(owner)?.hasLeft === true;
    });
  }

  sent(who: string, call: ScriptCall): void {
    const { script, keys, args } = call;
    const process = this.#world.processes.find(({ name }) => name === who);
    if (process === undefined) return;
    this.#linger.sent(process, call);
    if (!script.name.endsWith('.acquire')) return;
    this.#processes.set(args[0] as string, process);
    this.#tickets.asked(process, keys[0] as string);
  }

  answered(who: string, call: ScriptCall, answer: Reply | CallFailure): void {
    const { script, keys } = call;
    const process = this.#world.processes.find(({ name }) => name === who);
    if (process === undefined) return;
    this.#linger.answered(process, call, isGrant(call, answer));
    if (!script.name.endsWith('.acquire')) return;
    const isHeld = Array.isArray(answer) && answer[0] === OUTCOMES.HELD;
    this.#tickets.answered(process, keys[0] as string, isHeld);
  }

  arrived(node: SimulatedNode, call: ScriptCall): void {
    if (this.#world.nodes.length > 1) return;
    this.#line.arrived(node, call);
    this.#linger.arrived(node, call);
  }

  served(node: SimulatedNode, call: ScriptCall, outcome: string, nowMs: number): void {
    if (this.#world.nodes.length > 1) return;
    this.#line.served(node, call, outcome);
    const process = this.#processes.get(call.args[0] as string);
    if (process !== undefined) this.#linger.served(node, process, call, outcome.startsWith('HELD'), nowMs);
  }

  resynced(who: string, nowMs: number): void {
    const process = this.#world.processes.find(({ name }) => name === who);
    if (process !== undefined && this.#world.nodes.length === 1) this.#tickets.resynced(process, nowMs);
  }

  /** At any time. */
  look(nowMs: number): void {
    this.#tickets.lookForAsks(nowMs);
    this.#linger.look(nowMs);
  }

  /** In calm times. */
  lookForLeft(nowMs: number): void {
    this.#tickets.lookForLeft(nowMs);
  }

  /** Everybody has gone, a while ago. */
  checkGone(): void {
    this.#tickets.checkGone();
  }
}

function isGrant({ script }: ScriptCall, answer: Reply | CallFailure): boolean {
  if (answer instanceof CallFailure) return false;
  if (script.name === 'lock.acquire') return lockAcquire.decode(answer).is === 'GRANTED';
  return script.name === 'mutex.acquire' && mutexAcquire.decode(answer).is === 'GRANTED';
}
