/**
 * Candidates for one leader on virtual time: they lose messages, die and come back, step down, are flushed away. What their
 * bodies do is judged by the promises of a leader.
 */
import { EmbeddedNode, ManualClock } from 'holdfast-testing';
import type { Leader } from '../../../src/index.ts';
import { Locks } from '../../../src/locks.ts';
import { seeded } from '../../support/seeded.ts';
import { faultyClient } from './faulty-client.ts';
import { seededRandom } from './seeded-random.ts';

export interface LeaderBug {
  readonly name: string;
  readonly breaks: readonly string[];
  readonly patch: () => () => void;
}

const LEASE_MS = 1_500;
const STEPS = 400;
const STEP_MS = 100;
/** By then a campaign has ended, whatever happened before: backoff, lease, line. */
const CALM_MS = 30_000;

interface Term {
  readonly who: number;
  readonly signal: AbortSignal;
  /** Whether the term ended by a wish, and not by a loss. */
  isWish: boolean;
  isLost: boolean;
  isOver: boolean;
}

export class LeaderWorld {
  readonly verdicts: string[] = [];
  readonly #clock = new ManualClock();
  readonly #node = new EmbeddedNode({ clock: this.#clock });
  readonly #random: () => number;
  readonly #bug: LeaderBug | undefined;
  readonly #terms: Term[] = [];
  readonly #candidates = new Map<number, { readonly locks: Locks; readonly leader: Leader }>();
  #made = 0;
  #share = 0.15;
  #flushedAtMs = Number.NEGATIVE_INFINITY;

  constructor(seed: number, bug?: LeaderBug) {
    this.#random = seeded(seed);
    this.#bug = bug;
  }

  get terms(): number {
    return this.#terms.length;
  }

  async play(): Promise<readonly string[]> {
    await this.#node.command('PING');
    const unpatch = this.#bug?.patch() ?? (() => {});
    try {
      for (let i = 0; i < 3; i += 1) this.#join();
      for (let step = 0; step < STEPS && this.verdicts.length === 0; step += 1) {
        await this.#fault();
        await this.#clock.advance(STEP_MS);
      }
      this.#share = 0;
      if (this.verdicts.length === 0) await this.#clock.advance(CALM_MS);
      const leading = [...this.#candidates.values()].filter(({ leader }) => leader.isLeader);
      if (leading.length !== 1) this.verdicts.push(`nobody: ${leading.length} lead after the faults`);
      for (const { locks } of this.#candidates.values()) await locks.destroy();
    } finally {
      unpatch();
    }
    return this.verdicts;
  }

  #join(): void {
    this.#made += 1;
    const who = this.#made;
    const world = this;
    const faults = {
      get share(): number {
        return world.#share;
      },
      random: this.#random,
      change: undefined,
    };
    const client = faultyClient(this.#node.client(), this.#clock, faults);
    const locks = new Locks(client, {
      application: false,
      clock: this.#clock,
      leaseMs: LEASE_MS,
      callTimeoutMs: 400,
      random: seededRandom(this.#random),
    });
    const leader = locks.leader('boss', { backoffMs: { min: 200, max: 1_000 } });
    this.#candidates.set(who, { locks, leader });
    // A term that was to end by a wish may lose its lock while its body ends.
    leader.on('lost', () => {
      for (const term of this.#terms) if (term.who === who) term.isLost = true;
    });
    leader
      .run(({ signal }) => this.#body(who, signal))
      .catch((error: unknown) => {
        this.verdicts.push(`threw: ${String(error)}`);
      });
  }

  async #body(who: number, signal: AbortSignal): Promise<void> {
    const before = this.#terms.filter(({ isOver }) => !isOver);
    if (before.some((term) => term.who === who)) this.verdicts.push('process: two bodies in one process');
    if (before.some((term) => term.isWish && !term.isLost) && !this.#wasFlushed)
      this.verdicts.push('settled: a body begins before the last has ended');
    if (before.some((term) => !term.signal.aborted) && !this.#wasFlushed) {
      this.verdicts.push('told: a body begins and the last was not told');
    }
    const term: Term = { who, signal, isWish: false, isLost: false, isOver: false };
    this.#terms.push(term);
    if (!signal.aborted) {
      await new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
    // Who steps down or stops by a wish keeps the lock until it has ended; who has lost it does not.
    const { code } = signal.reason as { readonly code?: string };
    term.isWish = code === 'ELOCKABORTED';
    await new Promise<void>((resolve) => {
      this.#clock.startTimer(Math.floor(this.#random() * 3_000), resolve);
    });
    term.isOver = true;
  }

  get #wasFlushed(): boolean {
    return this.#clock.monotonicMs() - this.#flushedAtMs < 2 * LEASE_MS;
  }

  async #fault(): Promise<void> {
    const dice = this.#random();
    const all = [...this.#candidates];
    const [who, some] = all[Math.floor(this.#random() * all.length)] ?? [];
    if (dice < 0.01 && who !== undefined && all.length > 1) {
      this.#candidates.delete(who);
      await some?.locks.destroy();
      // Its body is gone with its process.
      for (const term of this.#terms) if (term.who === who) term.isOver = true;
    } else if (dice < 0.03 && all.length < 4) this.#join();
    else if (dice < 0.06) void some?.leader.stepDown();
    else if (dice < 0.065) {
      this.#flushedAtMs = this.#clock.monotonicMs();
      await this.#node.command('FLUSHALL');
    }
  }
}
