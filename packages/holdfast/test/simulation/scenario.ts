/** One seed from beginning to end: a world is made, goes wrong, calms down, and is looked at. */
import { CallFailure, type Client, type Clock, type Reply, type ScriptCall } from '../../src/index.ts';
import type { ScriptEngine } from '../../src/testing/script-engine.ts';
import { checkAfterClosing, checkListeners, checkOrphans, PromptWatch } from './aftermath.ts';
import { History } from './history.ts';
import { Judge, type Verdict } from './judge.ts';
import { Ledger } from './ledger.ts';
import { Machine } from './machine.ts';
import { OrphanWatch } from './orphan-watch.ts';
import type { PlantedBug } from './planted/bug.ts';
import { Prng } from './prng.ts';
import { SimulatedProcess } from './process.ts';
import { SimulatedClient } from './simulated-client.ts';
import { SimulatedNode } from './simulated-node.ts';
import { drawSwarm, type Swarm, swarmOf } from './swarm.ts';
import { drawTerms, type Terms } from './terms.ts';
import { Timeline } from './timeline.ts';
import { brew, calm, type Stage } from './weather.ts';
import { Caller, type Workplace } from './workload.ts';

export interface ScenarioOptions {
  readonly seed: number;
  readonly engine: ScriptEngine;
  /** Whether every step is kept in words. */
  readonly isTold?: boolean;
  readonly bug?: PlantedBug;
  /** How many nodes must agree; drawn by the seed when it is not said. */
  readonly nodes?: number;
}

export interface Outcome {
  readonly seed: number;
  readonly verdicts: readonly Verdict[];
  readonly hash: string;
  readonly lines: readonly string[];
  /** True time that went by. */
  readonly virtualMs: number;
  /** Scripts that nodes ran. */
  readonly operations: number;
  readonly grants: number;
  readonly faults: number;
  readonly title: string;
}

/** The world after the faults: long enough for every lease of a dead process to run out. */
const SETTLE_MS = 14_000;
/** By then whatever nobody wants any more has been cleaned up, however long its lease is. */
const CLEAN_MS = 7_000;
const LAPS_MS = 3_000;
const SERVED_MS_MAX = 60_000;
const ORPHAN_MS = 8_000;

export async function play(options: ScenarioOptions): Promise<Outcome> {
  const scenario = new Scenario(options);
  const undo = options.bug?.patch?.() ?? (() => {});
  try {
    return await scenario.play();
  } finally {
    undo();
  }
}

class Scenario implements Stage, Workplace {
  readonly timeline = new Timeline();
  readonly prng: Prng;
  readonly nodes: readonly SimulatedNode[];
  readonly processes: readonly SimulatedProcess[];
  readonly judge: Judge;
  readonly ledger: Ledger;
  readonly terms: Terms;
  readonly #options: ScenarioOptions;
  readonly #swarm: Swarm;
  readonly #history: History;
  readonly #callers: Caller[] = [];
  readonly #orphans: OrphanWatch;
  #isQuiet = false;
  #isOver = false;
  #faults = 0;

  constructor(options: ScenarioOptions) {
    this.#options = options;
    this.prng = new Prng(options.seed);
    this.#history = new History(options.isTold ?? false);
    const { bug } = options;
    this.terms = { ...drawTerms(this.prng, options.nodes), ...bug?.terms };
    const drawn = drawSwarm(this.prng, this.terms.nodes);
    this.#swarm = bug?.faults === undefined ? drawn : swarmOf(bug.faults, this.terms.nodes);
    const { faults, isInModel } = this.#swarm;
    const losesCounters =
      faults.has('evict counter') ||
      faults.has('flush') ||
      faults.has('restart with nothing') ||
      faults.has('restart without the last second');
    // Of one node's counters the clock makes up for; of several nodes' clocks none is the measure of the others.
    const isUnsure = this.terms.nodes === 1 ? faults.has('node jump back') && losesCounters : !isInModel;
    const areFencesSure = !isUnsure;
    this.judge = new Judge(() => this.timeline.nowMs, this.note, {
      isInModel,
      areFencesSure,
      // A lease, and the network between: only then has a renewal certainly told the truth.
      overlapMsMax: Math.max(...this.terms.leasesMs) + 100,
    });
    this.ledger = new Ledger(this.judge);
    this.nodes = Array.from({ length: this.terms.nodes }, (_, i) => this.#makeNode(i));
    this.processes = Array.from({ length: this.terms.processes }, (_, i) => this.#makeProcess(i));
    this.#orphans = new OrphanWatch(this.judge, this.nodes, this.names, this.processes);
  }

  get names(): readonly string[] {
    return this.terms.names;
  }

  readonly note = (who: string, what: string): void => {
    this.#history.note(this.timeline.nowMs, who, what);
  };

  isQuiet(): boolean {
    return this.#isQuiet;
  }

  isOver(): boolean {
    return this.#isOver;
  }

  after(ms: number, run: () => void): void {
    this.timeline.after(ms, run);
  }

  disturbed(): void {
    this.judge.disturbed();
  }

  async play(): Promise<Outcome> {
    const { faultMs } = this.terms;
    brew(this, this.#swarm, faultMs);
    for (const process of this.processes) this.#employ(process);
    await this.#run(faultMs);
    this.#faults += this.#swarm.faults.size;
    calm(this);
    this.note('world', 'is calm');
    await this.#run(faultMs + CLEAN_MS);
    await this.#run(faultMs + this.#settleMs, () => this.#lookForOrphans());
    this.#isQuiet = true;
    const watch = new PromptWatch(this.judge, this.nodes, this.names, () => this.#waiting());
    await this.#run(this.timeline.nowMs + LAPS_MS, () => {
      watch.look(this.timeline.nowMs);
      this.#lookForOrphans();
    });
    this.#isOver = true;
    this.note('world', 'ends its work');
    await this.#runUntilServed();
    await this.#end();
    return this.#outcome();
  }

  /** Of several nodes those that have restarted vote again only when the longest lease has run out. */
  get #settleMs(): number {
    if (this.nodes.length === 1) return SETTLE_MS;
    return Math.max(SETTLE_MS, Math.max(...this.terms.leasesMs) * 1.02 + SETTLE_MS / 2);
  }

  /** Lets time pass; the judge looks on after every event. */
  async #run(untilMs: number, look: () => void = () => {}): Promise<void> {
    await this.timeline.run(untilMs, () => {
      this.judge.look();
      look();
      return this.judge.verdicts.length > 0;
    });
  }

  /** A node that forgets a release, or whose clock goes back behind the end of a request, brings locks back to life. */
  get #mayRevive(): boolean {
    const { faults } = this.#swarm;
    return faults.has('restart without the last second') || faults.has('node jump back');
  }

  #lookForOrphans(): void {
    if (!this.#mayRevive) this.#orphans.look(this.timeline.nowMs);
  }

  async #runUntilServed(): Promise<void> {
    const untilMs = this.timeline.nowMs + SERVED_MS_MAX;
    const isServed = (): boolean => this.#living().every(({ isDone }) => isDone);
    await this.timeline.run(untilMs, () => {
      this.judge.look();
      return isServed() || this.judge.verdicts.length > 0;
    });
    for (const { process, isDone, waitsFor } of this.#living()) {
      if (isDone || this.judge.verdicts.length > 0) continue;
      this.judge.condemn(
        'served',
        `${process.name} still ${waitsFor === null ? 'works' : `waits for ${waitsFor}`}`,
      );
    }
  }

  async #end(): Promise<void> {
    if (this.judge.verdicts.length === 0) {
      await this.#run(this.timeline.nowMs + ORPHAN_MS);
      if (!this.#mayRevive) checkOrphans(this.judge, this.nodes, this.names, this.processes);
      checkListeners(this.judge, this.nodes);
      this.ledger.audit();
    }
    const closing = Promise.all(
      this.processes.filter(({ isAlive }) => isAlive).map(({ locks }) => locks.close()),
    );
    let isClosed = false;
    void closing.then(() => {
      isClosed = true;
    });
    await this.timeline.run(this.timeline.nowMs + SERVED_MS_MAX, () => isClosed);
    await this.timeline.run(this.timeline.nowMs + 1_000);
    if (this.judge.verdicts.length === 0) {
      if (!isClosed) this.judge.condemn('left', 'a session does not close');
      if (!this.#mayRevive) checkOrphans(this.judge, this.nodes, this.names, this.processes);
      checkAfterClosing(this.judge, this.nodes, this.processes);
    }
    // Nothing of a crashed process may stay behind in the real one that plays it.
    for (const { locks, machine } of this.processes) {
      machine.die();
      await locks.destroy();
    }
  }

  #outcome(): Outcome {
    const { faults, isInModel } = this.#swarm;
    return {
      seed: this.#options.seed,
      verdicts: this.judge.verdicts,
      hash: this.#history.hash,
      lines: this.#history.lines,
      virtualMs: this.timeline.nowMs,
      operations: this.nodes.reduce((sum, { runs }) => sum + runs, 0),
      grants: this.judge.grants,
      faults: this.#faults,
      title: `${this.terms.title}; ${isInModel ? 'in' : 'outside'} the model; ${[...faults].join(', ')}`,
    };
  }

  #living(): Caller[] {
    return this.#callers.filter(({ process }) => process.isAlive);
  }

  #waiting(): ReadonlySet<string> {
    return new Set(this.#living().flatMap(({ waitsFor }) => waitsFor ?? []));
  }

  #employ(process: SimulatedProcess): void {
    for (let i = 0; i < this.terms.callers; i += 1) {
      const caller = new Caller(process, this, this.prng.fork());
      this.#callers.push(caller);
      caller.work().catch((error: unknown) => {
        this.judge.condemn('served', `${process.name} threw ${String(error)}`);
      });
    }
  }

  #rate(): number {
    return this.#swarm.faults.has('drift') ? 1 + (this.prng.fraction() - 0.5) * 0.008 : 1;
  }

  #makeNode(index: number): SimulatedNode {
    const wallMs = Date.UTC(2030, 0, 1) + this.prng.between(-1_000, 1_000);
    return new SimulatedNode(
      `node${index + 1}`,
      this.timeline,
      this.prng.fork(),
      this.#options.engine,
      this.#rate(),
      wallMs,
    );
  }

  #makeProcess(index: number): SimulatedProcess {
    const { bug } = this.#options;
    const prng = this.prng.fork();
    const wallMs = Date.UTC(2030, 0, 1) + this.prng.between(-3_000, 3_000);
    const machine = new Machine(this.timeline, prng, { rate: this.#rate(), wallMs });
    const name = `p${index + 1}`;
    const clients = this.nodes.map((node) => {
      const world = { timeline: this.timeline, machine, node, prng: prng.fork() };
      return new SimulatedClient(world, this.terms.weather(this.#swarm.faults), {
        hasEar: this.terms.hasEars,
        resends: this.#swarm.faults.has('resend') && prng.chance(0.5),
        onServed: (call, answer) => this.#served(name, node, call, answer),
      });
    });
    const seams: Client[] = clients.map((client) => bug?.client?.(client, machine) ?? client);
    const clock: Clock = bug?.clock?.(machine) ?? machine;
    return new SimulatedProcess(name, machine, clients, seams, {
      ...this.terms.options,
      ...bug?.options,
      clock,
      random: prng.fork(),
    });
  }

  #served(who: string, node: SimulatedNode, call: ScriptCall, answer: Reply | CallFailure): void {
    const text = answer instanceof CallFailure ? answer.text : JSON.stringify(answer);
    this.note(node.name, `${who} ${call.script.name} ${call.keys[0]} ${call.args[0]?.slice(-4)} -> ${text}`);
    if (this.nodes.length > 1 || call.script.name !== 'lock.acquire' || answer instanceof CallFailure) return;
    const first = Array.isArray(answer)
      ? answer.length === 3 && typeof answer[2] === 'number'
        ? answer[2]
        : null
      : answer;
    if (typeof first === 'number' && first > 0 && !(Array.isArray(answer) && typeof answer[2] !== 'number')) {
      this.ledger.grant(call.keys[0] as string, first, Number(call.args[2]));
      this.#orphans.grant(call.args[0] as string, first, Number(call.args[2]));
    }
  }
}
