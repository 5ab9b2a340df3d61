/** Watches every lease and every grant, and remembers what broke a rule. */
import type { FencedLease, Lease } from '../../../src/index.ts';
import type { SimulatedProcess } from '../world/process.ts';
import type { Promises } from './promises.ts';

/** A rule, by the name it has in the documentation. */
export type Rule = 'exclusion' | 'order' | 'fences' | 'told' | 'served' | 'kept' | 'left' | 'counter';

/** The rules of `once`: `once/once-checks.ts`. */
export type OnceRule = 'one result' | 'attempts' | 'stored';

export interface Verdict {
  readonly rule: Rule | OnceRule;
  readonly atMs: number;
  readonly text: string;
}

/** One lease, from the moment its caller has it. */
export class Tenure {
  readonly lease: Lease;
  readonly process: SimulatedProcess;
  readonly name: string;
  /** The tenure of which this is a re-entry, or itself. */
  readonly root: Tenure;
  /** Asked for at once: a signal that nobody has asked for cannot be told. */
  readonly signal: AbortSignal;
  /** Nothing goes wrong while it lasts, and it is renewed: so it is not lost. */
  readonly isSafe: boolean;
  /** When it ends for its owner, by the owner's monotonic clock, as far as was last seen. */
  endsMs = 0;
  /** Since when somebody else holds it too. */
  sharedSinceMs: number | null = null;

  constructor(lease: Lease, process: SimulatedProcess, name: string, root: Tenure | null, isSafe: boolean) {
    this.isSafe = isSafe;
    this.lease = lease;
    this.process = process;
    this.name = name;
    this.root = root ?? this;
    this.signal = lease.signal;
  }

  /** A mutex has none. */
  get fence(): number | undefined {
    return (this.lease as Partial<FencedLease>).fence;
  }
}

/** Timers fire on whole milliseconds, and an owner is told in the turn after. */
const TOLD_SLACK_MS = 2;
/** How soon a process notices that its clocks have parted. */
export const NOTICED_MS = 1_000;

export class Judge {
  readonly #nowMs: () => number;
  readonly #note: (who: string, what: string) => void;
  readonly #tenures = new Set<Tenure>();
  readonly #lastFence = new Map<string, number>();
  readonly #fences = new Map<string, Set<number>>();
  readonly #isInModel: boolean;
  readonly #overlapMsMax: number;
  readonly #areLeasesLong: boolean;
  #areFencesSure: boolean;
  /** Names that guests hold. */
  readonly #guests = new Set<string>();
  /** Whether the faults and their consequences are over. */
  isQuiet = false;
  readonly verdicts: Verdict[] = [];
  grants = 0;

  constructor(nowMs: () => number, note: (who: string, what: string) => void, promises: Promises) {
    this.#nowMs = nowMs;
    this.#note = note;
    this.#isInModel = promises.isInModel;
    this.#overlapMsMax = promises.overlapMsMax;
    this.#areLeasesLong = promises.areLeasesLong;
    this.#areFencesSure = promises.areFencesSure;
  }

  get areFencesSure(): boolean {
    return this.#areFencesSure;
  }

  /** Something happened after which the next fence may be smaller. */
  liftFences(): void {
    this.#note('JUDGE', 'fences are not promised any more');
    this.#areFencesSure = false;
  }

  get isInModel(): boolean {
    return this.#isInModel;
  }

  condemn(rule: Rule | OnceRule, text: string): void {
    this.#note('JUDGE', `${rule}: ${text}`);
    this.verdicts.push({ rule, atMs: this.#nowMs(), text });
  }

  /** A guest has taken a lock. */
  guestEntered(name: string): void {
    this.#guests.add(name);
    if (!this.#isInModel) return;
    for (const { process } of this.claims(name))
      if (process.isAlive) this.condemn('exclusion', `${process.name} and a guest both hold ${name}`);
  }

  /** A guest is about to give a lock back. */
  guestLeft(name: string): void {
    this.#guests.delete(name);
  }

  /** A caller has been given a lease, which is renewed or not. */
  granted(
    lease: Lease,
    process: SimulatedProcess,
    name: string,
    within: Tenure | null,
    renews = false,
  ): Tenure {
    this.grants += 1;
    const { fence } = lease as Partial<FencedLease>;
    // Only a re-entry that shares the hold of the one above is a part of it; it may have come in by the front door.
    const isPart = within !== null && within.fence === fence && within.lease.isHeld;
    const isSafe = this.isQuiet && this.#areLeasesLong && renews && !isPart;
    const tenure = new Tenure(lease, process, name, isPart ? within.root : null, isSafe);
    this.#note(
      process.name,
      `has ${name}${fence === undefined ? '' : ` with fence ${fence}`} for ${lease.remainingMs.toFixed(1)} ms`,
    );
    if (this.#isInModel && lease.isHeld) this.#checkAlone(tenure);
    if (tenure.root === tenure && fence !== undefined) this.#checkFence(name, fence);
    if (within === null && !lease.isHeld)
      this.condemn('kept', `${process.name} was given ${name} when it was over`);
    this.#look(tenure);
    this.#tenures.add(tenure);
    return tenure;
  }

  /** The owner is about to give it back. */
  released(tenure: Tenure): void {
    this.#tenures.delete(tenure);
    this.#note(tenure.process.name, `releases ${tenure.name}`);
  }

  /** After every event: whoever may not claim a lock any more has been told so. */
  look(): void {
    for (const tenure of this.#tenures) this.#look(tenure);
    if (!this.#isInModel && this.#tenures.size > 1) this.#checkOverlaps();
  }

  /** Something happened that no lock survives: who shares one from here on has not done so for long. */
  disturbed(): void {
    for (const tenure of this.#tenures) tenure.sharedSinceMs = null;
  }

  /** Who claims a name now. */
  *claims(name: string): Generator<Tenure> {
    for (const tenure of this.#tenures) if (tenure.name === name && tenure.lease.isHeld) yield tenure;
  }

  #checkAlone(tenure: Tenure): void {
    if (this.#guests.has(tenure.name))
      this.condemn('exclusion', `${tenure.process.name} and a guest both hold ${tenure.name}`);
    for (const other of this.#tenures) {
      if (other.name !== tenure.name || other.root === tenure.root || !other.process.isAlive) continue;
      if (!other.lease.isHeld) continue;
      this.condemn('exclusion', `${tenure.process.name} and ${other.process.name} both hold ${tenure.name}`);
    }
  }

  /** Outside the model two may hold a lock for a while; each hears of it with its next renewal, or its lease ends. */
  #checkOverlaps(): void {
    const nowMs = this.#nowMs();
    for (const tenure of this.#tenures) {
      const isShared =
        [...this.claims(tenure.name)].some(({ root }) => root !== tenure.root) && tenure.lease.isHeld;
      if (!isShared || tenure.process.machine.state !== 'running') tenure.sharedSinceMs = null;
      else tenure.sharedSinceMs ??= nowMs;
      if (tenure.sharedSinceMs === null || nowMs - tenure.sharedSinceMs <= this.#overlapMsMax) continue;
      this.condemn(
        'exclusion',
        `${tenure.process.name} shares ${tenure.name} for ${this.#overlapMsMax} ms and is not told`,
      );
    }
  }

  #checkFence(name: string, fence: number): void {
    const given = this.#fences.get(name) ?? new Set<number>();
    this.#fences.set(name, given);
    if (!this.#areFencesSure) return;
    if (given.has(fence)) this.condemn('fences', `${name} was granted twice with fence ${fence}`);
    given.add(fence);
    const last = this.#lastFence.get(name) ?? 0;
    if (this.#isInModel && fence <= last)
      this.condemn('fences', `${name}: fence ${fence} came after ${last}`);
    this.#lastFence.set(name, Math.max(last, fence));
  }

  #look(tenure: Tenure): void {
    const { lease, process, signal, name } = tenure;
    const { machine } = process;
    if (machine.state !== 'running') return;
    const nowMs = machine.monotonicMs();
    if (lease.isHeld) {
      tenure.endsMs = nowMs + lease.remainingMs;
      return;
    }
    if (!signal.aborted) {
      const lateMs =
        nowMs - Math.max(tenure.endsMs, machine.wokenMs, machine.upsetMs + NOTICED_MS) - TOLD_SLACK_MS;
      if (lateMs <= 0) return;
      this.condemn(
        'told',
        `${process.name} was not told that it lost ${name}, ${lateMs.toFixed(1)} ms after its end`,
      );
    }
    if (tenure.isSafe) this.condemn('kept', `${process.name} lost ${name}, and nothing was wrong`);
    this.#tenures.delete(tenure);
  }
}
