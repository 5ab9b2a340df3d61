/** One seed of `once` from beginning to end: processes run and replay keys in a world that goes wrong, and calms down. */
import { LockError, type OnceOptions } from '../../../src/index.ts';
import { describeAnswer, describeCall } from '../call-text.ts';
import { checkAfterClosing, checkListeners, checkOrphans } from '../checks/final-checks.ts';
import { Judge } from '../checks/judge.ts';
import { promisesOf } from '../checks/promises.ts';
import { History } from '../history.ts';
import type { Outcome, ScenarioOptions } from '../outcome.ts';
import { drawTerms, type Terms } from '../terms.ts';
import { type FaultyWorld, heal, injectFaults } from '../world/fault-injection.ts';
import { drawFaults, type FaultSelection, selectionOf } from '../world/fault-selection.ts';
import { Prng } from '../world/prng.ts';
import type { SimulatedProcess } from '../world/process.ts';
import type { SimulatedNode } from '../world/simulated-node.ts';
import { Timeline } from '../world/timeline.ts';
import { WorldBuilder } from '../world/world-builder.ts';
import { lockKeys, OnceChecks, recordKeys } from './once-checks.ts';

/** After the faults: every lease of a dead process runs out, and every wait ends. */
const SERVED_MS_MAX = 120_000;
const CLEAN_MS = 8_000;
const THROW_CHANCE = 0.25;
const CALM_ROUNDS = 3;
const PAUSES_MS: readonly number[] = [1, 20, 100, 300];
const WAITS_MS: readonly number[] = [0, 300, 3_000, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];

class Thrown extends Error {}

/** A body throws now and then, which is no fault of the world. */
function isExpected(error: unknown): boolean {
  return error instanceof LockError || error instanceof Thrown;
}

class OnceScenario implements FaultyWorld {
  readonly timeline = new Timeline();
  readonly prng: Prng;
  readonly nodes: readonly SimulatedNode[];
  readonly processes: readonly SimulatedProcess[];
  readonly judge: Judge;
  readonly terms: Terms;
  readonly #keys = new Set<string>();
  /** How long a key is in use before callers turn to the next. */
  readonly #turnMs: number;
  readonly #checks: OnceChecks;
  readonly #history: History;
  readonly #seed: number;
  readonly #selection: FaultSelection;
  readonly #attempts: number;
  #values = 0;
  #working = 0;
  #faults = 0;

  constructor({ seed, engine, bug, isTold = false }: ScenarioOptions) {
    this.#seed = seed;
    this.prng = new Prng(seed);
    this.#history = new History(isTold);
    this.terms = { ...drawTerms(this.prng, 1), ...bug?.terms };
    const drawn = drawFaults(this.prng, 1);
    this.#selection = bug?.faults === undefined ? drawn : selectionOf(bug.faults, 1);
    // Few attempts are used up, many are not: a key that has failed for good has no result to look at.
    this.#attempts = this.prng.pick([1, 2, 5, 1_000]);
    this.#turnMs = this.prng.pick([20, 100, 500, 5_000]);
    this.judge = new Judge(() => this.timeline.nowMs, this.note, promisesOf(this.terms, this.#selection));
    this.#checks = new OnceChecks(this.judge);
    const builder = new WorldBuilder(this, this.#selection, engine, bug, {
      sent: () => {},
      arrived: (node, call) => this.#checks.arrived(node, call),
      answered: () => {},
      resynced: () => {},
      served: (who, node, call, answer) => {
        this.note(node.name, `${who} ${describeCall(call)} -> ${describeAnswer(answer)}`);
        this.#checks.served(node, call, answer);
      },
    });
    this.nodes = builder.makeNodes();
    this.processes = builder.makeProcesses(this.nodes);
  }

  /** What faults strike at: the records. */
  get names(): readonly string[] {
    return recordKeys(this.#keys.size === 0 ? ['key0'] : [...this.#keys].slice(-3));
  }

  readonly note = (who: string, what: string): void => {
    this.#history.note(this.timeline.nowMs, who, what);
  };

  struck(): void {
    this.#faults += 1;
  }

  disturbed(): void {
    this.#checks.isDisturbed = true;
  }

  setBack(node: SimulatedNode, ms: number): void {
    node.state.jump(-ms);
  }

  async play(): Promise<Outcome> {
    const { faultMs, callers } = this.terms;
    if (!this.#selection.isInModel) this.disturbed();
    injectFaults(this, this.#selection, faultMs);
    for (const process of this.processes) {
      for (let i = 0; i < callers; i += 1) this.#start(process, this.prng.fork());
    }
    const isOver = (): boolean => this.judge.verdicts.length > 0;
    await this.timeline.run(faultMs, isOver);
    heal(this);
    this.note('world', 'is calm');
    const untilMs = this.timeline.nowMs + SERVED_MS_MAX;
    await this.timeline.run(untilMs, () => isOver() || this.#living === 0);
    if (!isOver() && this.#living > 0) this.judge.condemn('served', `${this.#living} callers still wait`);
    await this.#end(isOver);
    return this.#outcome();
  }

  /** Callers of processes that have not crashed: those of the others never come back. */
  get #living(): number {
    return this.#working;
  }

  #start(process: SimulatedProcess, random: Prng): void {
    this.#working += 1;
    let isCounted = true;
    const leave = (): void => {
      if (isCounted) this.#working -= 1;
      isCounted = false;
    };
    const lookForCrash = (): void => {
      if (!process.isAlive) leave();
      else if (isCounted) this.timeline.after(1_000, lookForCrash);
    };
    lookForCrash();
    this.#work(process, random).then(leave, (error: unknown) => {
      this.judge.condemn('served', `${process.name} threw ${String(error)}`);
      leave();
    });
  }

  async #work(process: SimulatedProcess, random: Prng): Promise<void> {
    for (let rounds = 0; rounds < CALM_ROUNDS; ) {
      if (this.timeline.nowMs > this.terms.faultMs) rounds += 1;
      await process.sleep(random.pick(PAUSES_MS));
      await this.#call(process, random).catch((error: unknown) => {
        if (!isExpected(error)) throw error;
        this.note(process.name, error instanceof LockError ? error.code : 'threw');
      });
    }
  }

  async #call(process: SimulatedProcess, random: Prng): Promise<void> {
    const turn = Math.floor(this.timeline.nowMs / this.#turnMs);
    const key = `key${random.between(Math.max(0, turn - 1), turn)}`;
    this.#keys.add(key);
    this.#values += 1;
    const value = `${process.name} ${this.#values}`;
    const workMs = random.pick(this.terms.worksMs);
    const throws = random.chance(THROW_CHANCE);
    const controller = new AbortController();
    if (random.chance(0.1)) void process.sleep(random.between(0, 400)).then(() => controller.abort());
    const options: OnceOptions<string> = {
      leaseMs: random.pick(this.terms.leasesMs),
      waitMs: random.pick(WAITS_MS),
      attempts: this.#attempts,
      keepFailureMs: 86_400_000,
      ...(random.chance(0.5) ? { signal: controller.signal } : {}),
    };
    const result = await process.locks.once(
      key,
      async ({ attempt }) => {
        this.#checks.ran(key, attempt);
        if (workMs > 0) await process.sleep(workMs);
        if (throws) throw new Thrown('on purpose');
        return value;
      },
      options,
    );
    const [node] = this.nodes;
    if (node !== undefined) this.#checks.resolved(node, key, result);
  }

  async #end(isOver: () => boolean): Promise<void> {
    await this.timeline.run(this.timeline.nowMs + CLEAN_MS, isOver);
    const locks = lockKeys([...this.#keys]);
    const isTidy = !this.#checks.isDisturbed;
    if (!isOver() && isTidy) checkOrphans(this.judge, this.nodes, locks, this.processes);
    if (!isOver()) checkListeners(this.judge, this.nodes);
    const closing = Promise.all(
      this.processes.filter(({ isAlive }) => isAlive).map((process) => process.locks.close()),
    );
    let isClosed = false;
    void closing.then(() => {
      isClosed = true;
    });
    await this.timeline.run(this.timeline.nowMs + SERVED_MS_MAX, () => isClosed);
    await this.timeline.run(this.timeline.nowMs + 1_000);
    if (!isOver() && !isClosed) this.judge.condemn('left', 'a session does not close');
    if (!isOver()) checkAfterClosing(this.judge, this.nodes, this.processes);
    for (const process of this.processes) {
      process.machine.die();
      await process.locks.destroy();
    }
  }

  #outcome(): Outcome {
    const { faults, isInModel } = this.#selection;
    return {
      seed: this.#seed,
      verdicts: this.judge.verdicts,
      hash: this.#history.hash,
      lines: this.#history.lines,
      virtualMs: this.timeline.nowMs,
      operations: this.nodes.reduce((sum, { runs }) => sum + runs, 0),
      grants: this.#checks.runs,
      faults: this.#faults,
      title: `${this.terms.title}; once with ${this.#attempts} attempts; ${isInModel ? 'in' : 'outside'} the model; ${[...faults].join(', ')}`,
    };
  }
}

export async function playOnce(options: ScenarioOptions): Promise<Outcome> {
  return new OnceScenario(options).play();
}
