/** One seed from beginning to end: a world is made, goes wrong, calms down, and is looked at. */

import type { CallFailure, Reply, ScriptCall } from '../../src/index.ts';
import { describeAnswer, describeCall, type Grant, grantOf, isGivenOn, lineGrantOf } from './call-text.ts';
import { Callers } from './callers.ts';
import { CounterLife } from './checks/counter-life.ts';
import { checkAfterClosing, checkListeners, checkOrphans, PromptWatch } from './checks/final-checks.ts';
import { Judge } from './checks/judge.ts';
import { LineChecks, type LineWorld } from './checks/line-checks.ts';
import { ownerOf } from './checks/line-state.ts';
import { OrphanWatch } from './checks/orphan-watch.ts';
import { promisesOf } from './checks/promises.ts';
import { ProtectedResource } from './checks/protected-resource.ts';
import { WaitWatch } from './checks/wait-watch.ts';
import { History } from './history.ts';
import type { Outcome, ScenarioOptions } from './outcome.ts';
import { drawTerms, type Terms } from './terms.ts';
import type { WorkContext } from './workload.ts';
import { type FaultyWorld, heal, injectFaults } from './world/fault-injection.ts';
import { drawFaults, type FaultSelection, selectionOf } from './world/fault-selection.ts';
import { type CrossedWorld, GrantCrossing } from './world/grant-crossing.ts';
import { type Guest, inviteGuests } from './world/guest.ts';
import { Prng } from './world/prng.ts';
import type { SimulatedProcess } from './world/process.ts';
import type { SimulatedNode } from './world/simulated-node.ts';
import { Timeline } from './world/timeline.ts';
import { WorldBuilder } from './world/world-builder.ts';

/** The world after the faults: long enough for every lease of a dead process to run out. */
const SETTLE_MS = 14_000;
/** By then whatever nobody wants any more has been cleaned up, however long its lease is. */
const CLEAN_MS = 7_000;
const LAPS_MS = 3_000;
const SERVED_MS_MAX = 60_000;
const ORPHAN_MS = 8_000;
/** A waiter asks after 5 s at the latest; a connection may have hung until shortly before, and an ask with it. */
const CALM_MS_MAX = 12_000;
/** A line outlives the last word of anybody by so much. */
const LINE_MS = 21_000;

export async function play(options: ScenarioOptions): Promise<Outcome> {
  const scenario = new Scenario(options);
  const undo = options.bug?.patch?.() ?? (() => {});
  try {
    return await scenario.play();
  } finally {
    undo();
  }
}

class Scenario implements FaultyWorld, WorkContext, CrossedWorld, LineWorld {
  readonly timeline = new Timeline();
  readonly prng: Prng;
  readonly nodes: readonly SimulatedNode[];
  readonly processes: readonly SimulatedProcess[];
  readonly judge: Judge;
  readonly resource: ProtectedResource;
  readonly terms: Terms;
  readonly #options: ScenarioOptions;
  readonly #selection: FaultSelection;
  readonly #history: History;
  readonly #callers = new Callers(this);
  readonly #orphans: OrphanWatch;
  readonly #counterLife: CounterLife;
  readonly line: LineChecks;
  readonly #crossing: GrantCrossing;
  readonly #guests: readonly Guest[];
  #isQuiet = false;
  #isOver = false;
  #faults = 0;

  constructor(options: ScenarioOptions) {
    this.#options = options;
    this.prng = new Prng(options.seed);
    this.#history = new History(options.isTold ?? false);
    const { bug } = options;
    this.terms = { ...drawTerms(this.prng, options.nodes), ...bug?.terms };
    const drawn = drawFaults(this.prng, this.terms.nodes);
    this.#selection = bug?.faults === undefined ? drawn : selectionOf(bug.faults, this.terms.nodes);
    const { faults } = this.#selection;
    const { fenceTtlMs } = { ...this.terms.options, ...bug?.options };
    this.#counterLife = new CounterLife(fenceTtlMs as number, this.terms.nodes);
    const promises = promisesOf(this.terms, this.#selection);
    this.judge = new Judge(() => this.timeline.nowMs, this.note, promises);
    this.resource = new ProtectedResource(this.judge);
    const builder = new WorldBuilder(this, this.#selection, options.engine, options.bug, {
      sent: (who, call) => {
        this.#history.remark(this.timeline.nowMs, who, `sends ${describeCall(call)}`);
        this.line.sent(who, call);
      },
      arrived: (node, call) => this.line.arrived(node, call),
      answered: (who, call, answer) => this.line.answered(who, call, answer),
      resynced: (who) => this.line.resynced(who, this.timeline.nowMs),
      served: (who, node, call, answer) => this.#served(who, node, call, answer),
    });
    this.nodes = builder.makeNodes();
    this.processes = builder.makeProcesses(this.nodes);
    this.line = new LineChecks(this);
    this.#orphans = new OrphanWatch(this.judge, this.nodes, this.names, this.line);
    this.#crossing = new GrantCrossing(this, faults, this.prng.fork());
    this.#guests = faults.has('guest') ? inviteGuests(this, this.terms, this.prng.fork()) : [];
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

  isWaiting(process: SimulatedProcess, name: string): boolean {
    return this.#callers.isWaiting(process, name);
  }

  abortWaits(process: SimulatedProcess, name: string): void {
    this.note(process.name, `aborts its waits for ${name} behind a grant`);
    this.#callers.abort(process, name);
  }

  after(ms: number, run: () => void): void {
    this.timeline.after(ms, run);
  }

  struck(): void {
    this.#faults += 1;
  }

  disturbed(): void {
    this.judge.disturbed();
  }

  setBack(node: SimulatedNode, ms: number): void {
    const { nowMs } = node.state;
    if (this.#counterLife.endsWith(node, nowMs, nowMs - ms)) this.judge.liftFences();
    node.state.jump(-ms);
  }

  async play(): Promise<Outcome> {
    const { faultMs } = this.terms;
    injectFaults(this, this.#selection, faultMs);
    for (const process of this.processes) this.#callers.start(process, this.terms.callers, this.prng);
    await this.#run(faultMs);
    heal(this);
    this.#crossing.isOver = true;
    this.note('world', 'is calm');
    await this.#run(faultMs + CLEAN_MS);
    const calmMsMax = this.nodes.length === 1 ? CALM_MS_MAX : Number.POSITIVE_INFINITY;
    const calm = new PromptWatch(this.judge, this.nodes, this.names, calmMsMax);
    await this.#run(faultMs + this.#settleMs, () => {
      calm.look(this.timeline.nowMs, this.#callers.awaited);
      this.#lookForOrphans();
    });
    this.#isQuiet = true;
    this.judge.isQuiet = true;
    const quiet = new PromptWatch(this.judge, this.nodes, this.names);
    const waits = new WaitWatch(this.judge, this.terms);
    await this.#run(this.timeline.nowMs + LAPS_MS, () => {
      quiet.look(this.timeline.nowMs, this.#callers.awaited);
      waits.look(this.timeline.nowMs, this.#callers.living, this.#guests, (name) => this.#isDead(name));
      this.#lookForOrphans();
    });
    this.#isOver = true;
    for (const guest of this.#guests) guest.stop();
    this.note('world', 'ends its work');
    await this.#runUntilServed();
    await this.#end();
    return this.#outcome();
  }

  /** Whether nobody can release what has that name, until its lease ends: its owner is gone, or a restart has revived it. */
  #isDead(name: string): boolean {
    if (this.line.isDead(name)) return true;
    if (this.#mayRevive && this.#orphans.leftOn(name, this.timeline.nowMs) !== null) return true;
    return this.#guests.some((guest) => guest.lock === name && guest.isRevived);
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
      this.line.look(this.timeline.nowMs);
      look();
      return this.judge.verdicts.length > 0;
    });
  }

  /** A node that forgets a release, or whose clock goes back behind the end of a request, brings locks back to life. */
  get #mayRevive(): boolean {
    const { faults } = this.#selection;
    return faults.has('restart without the last second') || faults.has('node jump back');
  }

  #lookForOrphans(): void {
    if (this.#mayRevive) return;
    this.#orphans.look(this.timeline.nowMs);
    this.line.lookForLeft(this.timeline.nowMs);
  }

  async #runUntilServed(): Promise<void> {
    const untilMs = this.timeline.nowMs + SERVED_MS_MAX;
    const isServed = (): boolean => this.#callers.living.every(({ isDone }) => isDone);
    await this.timeline.run(untilMs, () => {
      this.judge.look();
      return isServed() || this.judge.verdicts.length > 0;
    });
    for (const { process, isDone, waitsFor } of this.#callers.living) {
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
      this.resource.audit();
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
      await this.timeline.run(this.timeline.nowMs + LINE_MS);
      if (!this.#mayRevive) this.line.checkGone();
    }
    // Nothing of a crashed process may stay behind in the real one that plays it.
    for (const { locks, machine } of this.processes) {
      machine.die();
      await locks.destroy();
    }
  }

  #outcome(): Outcome {
    const { faults, isInModel } = this.#selection;
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

  #served(who: string, node: SimulatedNode, call: ScriptCall, answer: Reply | CallFailure): void {
    this.note(node.name, `${who} ${describeCall(call)} -> ${describeAnswer(answer)}`);
    for (const { message, receivers } of node.published)
      this.#history.remark(this.timeline.nowMs, node.name, `tells ${receivers}: ${message}`);
    // Read before the answer: an ask that gives the lock to another is answered with that.
    const name = call.keys[0] ?? '';
    const owner = ownerOf(node, name);
    const inLine = lineGrantOf(call, node.published, owner);
    if (inLine !== null) this.#granted(node, inLine);
    const grantee = isGivenOn(node.published) ? this.line.processOf(owner ?? '') : undefined;
    if (grantee !== undefined) this.#crossing.granted(grantee, name);
    const granted = grantOf(call, answer);
    if (granted !== null) this.#granted(node, granted);
    this.line.served(node, call, describeAnswer(answer), this.timeline.nowMs);
  }

  #granted(node: SimulatedNode, granted: Grant): void {
    this.#counterLife.granted(node, granted);
    if (this.nodes.length > 1) return;
    this.resource.grant(granted);
    this.#orphans.grant(granted);
  }
}
