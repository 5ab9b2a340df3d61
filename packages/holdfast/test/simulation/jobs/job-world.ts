/**
 * Replicas of one job on virtual time: they lose messages, die and come back, their clocks and the server's clock step, locks
 * are evicted. What their bodies do is judged by the promises of a schedule.
 */
import { EmbeddedNode, ManualClock } from 'holdfast-testing';
import type { JobRunContext, ScriptText } from '../../../src/index.ts';
import { Locks } from '../../../src/locks.ts';
import { SkewedClock } from '../../primitives/schedule/world.ts';
import { seeded } from '../../support/seeded.ts';
import { faultyClient } from './faulty-client.ts';
import { seededRandom } from './seeded-random.ts';

export interface JobBug {
  readonly name: string;
  /** Rules that may find it. */
  readonly breaks: readonly string[];
  /** Only found where nothing else is wrong. */
  readonly isCalm?: boolean;
  readonly change?: (text: ScriptText) => string;
  /** Changes the shipped code in this process, and returns how to change it back. */
  readonly patch?: () => () => void;
}

const EVERY_MS = 5_000;
const LEASE_MS = 1_500;
const STEPS = 600;
const STEP_MS = 100;
const LOCK = 'holdfast_job_lock:{tick}';
const MARKER = 'holdfast_job:{tick}';

interface Run {
  readonly slotMs: number;
  readonly attempt: number;
  readonly context: JobRunContext;
  isOver: boolean;
}

export class JobWorld {
  readonly verdicts: string[] = [];
  readonly #clock = new ManualClock(Date.UTC(2030, 0, 1) + 2_000);
  readonly #serverClock = new SkewedClock(this.#clock, 0);
  readonly #node = new EmbeddedNode({ clock: this.#serverClock });
  readonly #random: () => number;
  readonly #isCalm: boolean;
  readonly #bug: JobBug | undefined;
  readonly #runs: Run[] = [];
  readonly #done = new Set<number>();
  readonly #createdMs = this.#serverClock.wallMs();
  #replicas: Locks[] = [];
  /** The earliest time that the server has told anybody. */
  #earliestMs = this.#createdMs;
  #evictedAtMs = Number.NEGATIVE_INFINITY;
  /** The last time that the server's clock was set back, and what it would have shown without. */
  #setBack = { atMs: Number.NEGATIVE_INFINITY, byMs: 0 };

  constructor(seed: number, bug?: JobBug) {
    this.#random = seeded(seed);
    // Every fourth world is without faults: there every slot must be run.
    this.#isCalm = bug?.isCalm ?? seed % 4 === 0;
    this.#bug = bug;
  }

  get runs(): number {
    return this.#runs.length;
  }

  async play(): Promise<readonly string[]> {
    await this.#node.command('PING');
    const unpatch = this.#bug?.patch?.() ?? (() => {});
    try {
      for (let i = 0; i < 3; i += 1) this.#deploy();
      for (let step = 0; step < STEPS && this.verdicts.length === 0; step += 1) {
        if (!this.#isCalm) await this.#fault();
        await this.#clock.advance(STEP_MS);
        await this.#look();
      }
      if (this.#isCalm) this.#judgeCalm();
      for (const locks of this.#replicas) await locks.destroy();
    } finally {
      unpatch();
    }
    return this.verdicts;
  }

  #judge(rule: string, isBroken: boolean, what: string): void {
    if (isBroken) this.verdicts.push(`${rule}: ${what}`);
  }

  #deploy(): void {
    const skewMs = Math.round((this.#random() - 0.5) * 60_000);
    const faults = { share: this.#isCalm ? 0 : 0.15, random: this.#random, change: this.#bug?.change };
    const client = faultyClient(this.#node.client(), this.#clock, faults);
    const locks = new Locks(client, {
      application: false,
      clock: new SkewedClock(this.#clock, skewMs),
      leaseMs: LEASE_MS,
      callTimeoutMs: 500,
      random: seededRandom(this.#random),
    });
    locks.schedule('tick', { everyMs: EVERY_MS, attempts: 3, missed: 'once' }, (run) => this.#body(run));
    this.#replicas.push(locks);
  }

  async #body(context: JobRunContext): Promise<void> {
    const slotMs = context.slot.getTime();
    const { attempt } = context;
    const name = `slot ${slotMs - this.#createdMs} attempt ${attempt}`;
    this.#judge(
      'once',
      this.#runs.some((run) => run.slotMs === slotMs && run.attempt === attempt),
      name,
    );
    this.#judge('early', this.#decidedMs < slotMs, name);
    this.#judge('again', this.#done.has(slotMs), name);
    this.#judge('deploy', slotMs < this.#earliestMs, name);
    const living = this.#runs.filter((run) => !run.isOver && run.context.isHeld);
    this.#judge('overlap', living.length > 0 && !this.#wasEvicted, name);
    const run: Run = { slotMs, attempt, context, isOver: false };
    this.#runs.push(run);
    try {
      // Some go on after they were told to end.
      await new Promise<void>((resolve) => {
        this.#clock.startTimer(Math.floor(this.#random() * (this.#isCalm ? 500 : 4_000)), resolve);
      });
      if (this.#random() < 0.2 && !this.#isCalm) throw new Error('boom');
    } finally {
      run.isOver = true;
    }
  }

  /**
   * The latest time by which the server may have decided about a start that begins now: the answer was under way while the clock was
   * set back.
   */
  get #decidedMs(): number {
    const isUnderWay = this.#clock.monotonicMs() - this.#setBack.atMs <= LEASE_MS;
    return this.#serverClock.wallMs() + (isUnderWay ? this.#setBack.byMs : 0);
  }

  /** An evicted lock may have two owners until the first of them renews. */
  get #wasEvicted(): boolean {
    return this.#clock.monotonicMs() - this.#evictedAtMs < 2 * LEASE_MS + 1_000;
  }

  async #fault(): Promise<void> {
    const dice = this.#random();
    if (dice < 0.01) {
      const [dead] = this.#replicas.splice(Math.floor(this.#random() * this.#replicas.length), 1);
      await dead?.destroy();
    } else if (dice < 0.03 && this.#replicas.length < 4) {
      this.#deploy();
    } else if (dice < 0.034) {
      const stepMs = Math.round((this.#random() - 0.6) * 12_000);
      this.#serverClock.offsetMs += stepMs;
      if (stepMs < 0) this.#setBack = { atMs: this.#clock.monotonicMs(), byMs: -stepMs };
      this.#earliestMs = Math.min(this.#earliestMs, this.#serverClock.wallMs());
      // Locks expire by the clock of the server: one that is set ahead takes them away as an eviction does.
      if (stepMs > 0) this.#evictedAtMs = this.#clock.monotonicMs();
    } else if (dice < 0.038) {
      this.#evictedAtMs = this.#clock.monotonicMs();
      await this.#node.command('DEL', LOCK);
    }
  }

  /** A run that has its lock by its own clock has it in Redis too. */
  async #look(): Promise<void> {
    // Recorded: a run that ended well and died before it could say so may run again.
    const [slot, state] = (await this.#node.command('HMGET', MARKER, 'slot', 'state')) as (string | null)[];
    if (state === 'done') this.#done.add(Number(slot));
    const living = this.#runs.filter((run) => !run.isOver && run.context.isHeld);
    this.#judge('overlap', living.length > 1 && !this.#wasEvicted, 'two runs have the lock');
    if (living.length !== 1 || this.#wasEvicted) return;
    this.#judge(
      'stolen',
      (await this.#node.command('EXISTS', LOCK)) !== 1,
      'the lock of a living run is gone',
    );
  }

  /** Without faults every slot runs once, soon after its time. */
  #judgeCalm(): void {
    const ran = new Set(this.#runs.map(({ slotMs }) => slotMs));
    const first = Math.ceil(this.#createdMs / EVERY_MS) * EVERY_MS;
    for (let slotMs = first; slotMs < this.#serverClock.wallMs() - 1_000; slotMs += EVERY_MS) {
      this.#judge('missing', !ran.has(slotMs), `slot ${slotMs - this.#createdMs}`);
    }
  }
}
