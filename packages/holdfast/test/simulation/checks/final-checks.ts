/** What the world must look like when nothing goes wrong any more. */

import type { SimulatedProcess } from '../world/process.ts';
import type { SimulatedNode } from '../world/simulated-node.ts';
import type { Judge } from './judge.ts';

/** A wake-up, a few round trips on a slow network, and the moment for which a process stands back. */
const PROMPT_MS = 700;
/** Several nodes split their votes now and then, and the candidates stand back before the next round. */
const PROMPT_BY_SEVERAL_MS = 2_500;

/** In quiet times a lock that is free and wanted is taken at once: nobody sleeps through a release. */
export class PromptWatch {
  readonly #judge: Judge;
  readonly #nodes: readonly SimulatedNode[];
  readonly #names: readonly string[];
  readonly #limitMs: number;
  readonly #freeSinceMs = new Map<string, number>();

  constructor(
    judge: Judge,
    nodes: readonly SimulatedNode[],
    names: readonly string[],
    limitMs: number = nodes.length === 1 ? PROMPT_MS : PROMPT_BY_SEVERAL_MS,
  ) {
    this.#judge = judge;
    this.#nodes = nodes;
    this.#names = names;
    this.#limitMs = limitMs;
  }

  look(nowMs: number, waiting: ReadonlySet<string>): void {
    const limitMs = this.#limitMs;
    for (const name of this.#names) {
      const isFree = this.#nodes.every((node) => !hasKey(node, name));
      if (!isFree || !waiting.has(name)) {
        this.#freeSinceMs.delete(name);
        continue;
      }
      const sinceMs = this.#freeSinceMs.get(name) ?? nowMs;
      this.#freeSinceMs.set(name, sinceMs);
      if (nowMs - sinceMs > limitMs)
        this.#judge.condemn('served', `${name} is free and wanted for ${limitMs} ms`);
    }
  }
}

function hasKey(node: SimulatedNode, name: string): boolean {
  node.state.tick();
  return node.state.databases[0]?.entry(name) !== undefined;
}

/** Everybody has let go: what is still locked is locked by nobody. */
export function checkOrphans(
  judge: Judge,
  nodes: readonly SimulatedNode[],
  names: readonly string[],
  processes: readonly SimulatedProcess[],
): void {
  const hasLost = processes.some(({ hasLeft }) => hasLeft);
  for (const node of nodes) {
    node.state.tick();
    for (const name of names) {
      const value = node.state.databases[0]?.entry(name)?.value;
      if (value === undefined) continue;
      const owner = value.type === 'hash' ? ([...value.fields.keys()][0] ?? '') : '';
      const isOurs = processes.some(({ locks, hasLeft }) => !hasLeft && owner.startsWith(locks.session));
      // The owner of a mutex is a secret: it may be one that crashed, or closed in an outage.
      if (isOurs || !hasLost)
        judge.condemn('left', `${name} is still locked on ${node.name}, by nobody (${owner})`);
    }
  }
}

/** Nobody waits, so nobody listens, but sessions for what is sent to them by name. */
export function checkListeners(judge: Judge, nodes: readonly SimulatedNode[]): void {
  for (const node of nodes) {
    const channels = node.state.channels
      .names('channel', '*')
      .filter((name) => !name.startsWith('holdfast_session:'));
    if (channels.length > 0) judge.condemn('left', `listeners to ${channels.join(', ')} on ${node.name}`);
  }
}

export function checkAfterClosing(
  judge: Judge,
  nodes: readonly SimulatedNode[],
  processes: readonly SimulatedProcess[],
): void {
  for (const { name, machine, isAlive } of processes) {
    if (isAlive && machine.pendingTimers > 0)
      judge.condemn('left', `${machine.pendingTimers} timers of ${name}`);
  }
  for (const node of nodes) {
    const connections = node.state.connections.size;
    if (connections > 0) judge.condemn('left', `${connections} connections to ${node.name}`);
  }
}
