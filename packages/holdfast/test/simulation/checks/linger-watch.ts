/**
 * Watches holds that their process may keep although nobody uses them (`lingerMs`), where one node decides. By the clock of its
 * process such a hold comes to its end at the first of these moments:
 *
 * - `lingerMs` after it was asked for: `Attempts.make` counts from there, and `Holds.add` sets a timer. Nothing puts that off, no
 *   use, no lost message and no fault;
 * - when another session asks for the lock, because the node says "wanted" with each ask (lua/include/linger.lua): `HEARD_MS` after
 *   the node has run it. If the message is lost or late, or the connection is in trouble, that ask does not count, and the next does;
 * - when its session begins to close.
 *
 * From then on:
 *
 * - served: it is released within `PROMPT_MS` unless somebody owns it, and as soon as its owner leaves. Another caller of its process
 *   gets it only by a hand-over: one decided on within `handoverMs` of the grant, for which the lease may have to be stated first
 *   (two calls, if a renewal is under way). A process that stands still is late by as much, and no more; one whose clocks have parted
 *   by the time it takes to notice that its lease is over;
 * - left: a session that has closed has released it. A process that was killed leaves it to its lease.
 *
 * Released means here that the process has sent the release. `OrphanWatch` sees to it that the node gets it.
 */
import type { ScriptCall } from '../../../src/index.ts';
import type { SimulatedProcess } from '../world/process.ts';
import type { SimulatedNode } from '../world/simulated-node.ts';
import { type Judge, NOTICED_MS, type Tenure } from './judge.ts';
import { keeperOf, ownerOf } from './line-state.ts';

/** A message from the node to a process, on the slowest network and behind another one. */
const HEARD_MS = 60;
/** Timers fire on whole milliseconds, and what came while a process stood still is taken at once, in any order. */
const PROMPT_MS = 50;

interface Kept {
  readonly holder: string;
  readonly name: string;
  readonly node: SimulatedNode;
  readonly process: SimulatedProcess;
  /** When it comes to its end, by the clock of its process, and why. */
  endMs: number;
  why: string;
  /** When its process heard of the grant, by its clock. */
  knownMs: number | null;
  /** An ask of another session, of which the process will hear by then, unless there has been more trouble. */
  ask: { readonly dueMs: number; readonly troubles: number } | null;
  /** How much trouble there had been when the last script began to run. */
  troubles: number;
  /** Whether the line names it as one that may be kept: `lost` if that was taken away from outside, and no script did it. */
  mark: 'there' | 'lost' | 'removed';
  owner: Tenure | null;
  /** Since when nobody owns it and no call about it is under way, by the clock of its process. */
  idleSinceMs: number | null;
  /** Calls that state its lease. */
  calls: number;
}

export class LingerWatch {
  readonly #judge: Judge;
  readonly #callerLingersMs: readonly (number | null)[];
  readonly #askedMs = new Map<string, number>();
  readonly #released = new Set<string>();
  readonly #kept = new Map<string, Kept>();

  constructor(judge: Judge, callerLingersMs: readonly (number | null)[]) {
    this.#judge = judge;
    this.#callerLingersMs = callerLingersMs;
  }

  /** Whether nobody need own that hold. */
  mayKeep(holder: string): boolean {
    const kept = this.#kept.get(holder);
    return kept !== undefined && kept.process.machine.monotonicMs() <= kept.endMs;
  }

  /** A process that keeps a hold now although nobody uses it. */
  keeper(): SimulatedProcess | undefined {
    return [...this.#kept.values()].find(({ owner, knownMs }) => owner === null && knownMs !== null)?.process;
  }

  sent({ machine }: SimulatedProcess, { script, args }: ScriptCall): void {
    const holder = args[0] as string;
    if (script.name.endsWith('.acquire')) this.#askedMs.set(holder, machine.monotonicMs());
    else if (script.name.endsWith('.release')) {
      this.#released.add(holder);
      this.#kept.delete(holder);
    } else for (const kept of this.#kept.values()) if (args.includes(kept.holder)) kept.calls += 1;
  }

  answered({ machine, options }: SimulatedProcess, { script, args }: ScriptCall, isGranted: boolean): void {
    const kept = this.#kept.get(args[0] as string);
    if (script.name.endsWith('.acquire')) {
      if (kept === undefined || kept.knownMs !== null || !isGranted) return;
      kept.knownMs = machine.monotonicMs();
      const lingerMs = Math.max(options.lingerMs ?? 0, ...this.#callerLingersMs.map((ms) => ms ?? 0));
      end(kept, (this.#askedMs.get(kept.holder) ?? 0) + lingerMs, `${lingerMs} ms are over`);
    } else {
      for (const one of this.#kept.values()) {
        if (!args.includes(one.holder)) continue;
        one.calls -= 1;
        one.idleSinceMs = null;
      }
    }
  }

  /** A script is about to run. */
  arrived(node: SimulatedNode, { keys }: ScriptCall): void {
    this.#lookAtMark(node, keys[0] as string, 'lost');
    // Before what the script tells is on its way.
    for (const kept of this.#kept.values()) kept.troubles = troublesOf(kept.process);
  }

  #lookAtMark(node: SimulatedNode, name: string, otherwise: Kept['mark']): void {
    for (const kept of this.#kept.values()) {
      const isHere = kept.name === name && kept.mark === 'there';
      if (isHere && keeperOf(node, name) !== kept.holder) kept.mark = otherwise;
    }
  }

  /** A script has run that `process` has sent. `isHeld`: it has found another owner. */
  served(
    node: SimulatedNode,
    process: SimulatedProcess,
    { script, keys, args }: ScriptCall,
    isHeld: boolean,
    nowMs: number,
  ): void {
    const [name, holder] = [keys[0] as string, args[0] as string];
    this.#lookAtMark(node, name, 'removed');
    const owner = ownerOf(node, name);
    if (!script.name.endsWith('.acquire') || owner === null) return;
    if (owner === holder) this.#begin(node, process, name, holder);
    const kept = this.#kept.get(owner);
    if (
      kept === undefined ||
      !isHeld ||
      kept.process === process ||
      kept.ask !== null ||
      kept.mark === 'lost'
    )
      return;
    const { clients } = kept.process;
    if (!clients.every(({ subscriber }) => subscriber.isClear) || !isHeard(node, kept.process)) return;
    kept.ask = { dueMs: nowMs + HEARD_MS, troubles: kept.troubles };
  }

  #begin(node: SimulatedNode, process: SimulatedProcess, name: string, holder: string): void {
    // One that asks again before it has an answer hears in that whether anybody waits now.
    if (this.#kept.get(holder)?.knownMs === null) this.#kept.delete(holder);
    if (this.#released.has(holder) || this.#kept.has(holder) || keeperOf(node, name) !== holder) return;
    const [endMs, why] = [Number.POSITIVE_INFINITY, ''];
    const none = { knownMs: null, ask: null, owner: null, idleSinceMs: null, calls: 0, troubles: 0 };
    this.#kept.set(holder, { holder, name, node, process, endMs, why, mark: 'there', ...none });
  }

  /** At any time. */
  look(nowMs: number): void {
    for (const kept of this.#kept.values()) {
      const { holder, name, node, process } = kept;
      node.state.tick();
      if (process.isAlive && ownerOf(node, name) === holder) this.#look(kept, nowMs);
      else this.#kept.delete(holder);
    }
  }

  #look(kept: Kept, nowMs: number): void {
    const { name, process, ask } = kept;
    const { machine } = process;
    if (machine.state !== 'running') return;
    const ownMs = machine.monotonicMs();
    if (ask !== null && nowMs >= ask.dueMs) {
      kept.ask = null;
      if (ask.troubles === troublesOf(process)) end(kept, ownMs, 'another session asks for it');
    }
    if (process.hasLeft) end(kept, ownMs, 'its session closes');
    if (kept.knownMs === null) return;
    if (process.isClosed) this.#condemn(kept, 'left', `${process.name} has closed and not released ${name}`);
    const owner = this.#ownerOf(kept);
    if (owner !== null && owner !== kept.owner) this.#checkHandover(kept, kept.knownMs, ownMs);
    kept.owner = owner;
    kept.idleSinceMs = owner !== null || kept.calls > 0 ? null : (kept.idleSinceMs ?? ownMs);
    if (kept.idleSinceMs === null) return;
    const sinceMs = Math.max(kept.endMs, kept.idleSinceMs, machine.wokenMs, machine.upsetMs + NOTICED_MS);
    if (ownMs - sinceMs > PROMPT_MS)
      this.#condemn(kept, 'served', `${process.name} keeps ${name} unused although ${kept.why}`);
  }

  #checkHandover(kept: Kept, knownMs: number, ownMs: number): void {
    const { name, process } = kept;
    const { handoverMs = 0, callTimeoutMs = 0 } = process.options;
    const lastMs = Math.max(kept.endMs, knownMs + handoverMs, process.machine.wokenMs);
    if (ownMs - lastMs > 2 * callTimeoutMs + PROMPT_MS)
      this.#condemn(kept, 'served', `${process.name} uses ${name} once more although ${kept.why}`);
  }

  #condemn(kept: Kept, rule: 'served' | 'left', text: string): void {
    this.#kept.delete(kept.holder);
    this.#judge.condemn(rule, text);
  }

  /** A process has one hold of a name at a time, so whoever owns the name there owns this one. */
  #ownerOf({ name, process }: Kept): Tenure | null {
    for (const tenure of this.#judge.claims(name)) if (tenure.process === process) return tenure.root;
    return null;
  }
}

/** The end comes at that time, by the clock of its process, if no other comes first. */
function end(kept: Kept, atMs: number, why: string): void {
  if (atMs >= kept.endMs) return;
  kept.endMs = atMs;
  kept.why = why;
}

function troublesOf({ clients }: SimulatedProcess): number {
  return clients.reduce((sum, { subscriber }) => sum + subscriber.troubles, 0);
}

function isHeard(node: SimulatedNode, { locks }: SimulatedProcess): boolean {
  return node.state.channels.count('channel', `holdfast_session:${locks.session}`) > 0;
}
