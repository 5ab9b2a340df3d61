/**
 * Supervises a command that runs under a lock: ends its process group before the server can grant the lock to anybody
 * else.
 *
 * In this folder: the command under its lock: this supervisor, the process group, the guard that acts when we cannot,
 * the signals, and the notice about who holds the lock. Only `commands/run.ts`, `commands/job.ts` and `demo/` import
 * from here.
 *
 * - `running`: the lease is renewed in the background. Left when the command exits; when the lease has only `reserveMs`
 *   left (`ending`, lost); when the server says that the lock is not ours (`ending`, lost); on SIGTERM (`ending`).
 * - `ending`: the group got SIGTERM. After the grace it gets SIGKILL. Left when no process of the group is alive.
 *
 * `reserveMs` is the grace and a margin. A lease that is not renewed by its expiry minus `reserveMs` counts as lost, so
 * that SIGTERM, the grace and SIGKILL all fit in before the expiry.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Lease } from 'holdfast';
import { TIMER_MS_MAX } from '../duration.ts';
import type { ChildGroup } from './child-group.ts';
import type { Guard } from './guard.ts';

/** From SIGKILL to the exit of the last process on a busy machine, GUARD_DELAY_MS included. */
const KILL_MARGIN_MS = 250;
/** The guard's limit is later than ours by this much, so that it acts only when we do not. */
const GUARD_DELAY_MS = 50;
/** Checks of the time left in each lease: twice as many as renewals. */
const CHECKS_PER_LEASE = 6;
const GROUP_POLL_MS = 10;

/** The longest grace that fits a lease. Half of the lease stays for renewals that have to be repeated. */
export function graceMsMax(leaseMs: number): number {
  return Math.floor(leaseMs / 2) - KILL_MARGIN_MS;
}

export interface SupervisorTerms {
  readonly leaseMs: number;
  readonly graceMs: number;
}

/** What of a lease a command depends on. */
export type SupervisedLease = Pick<Lease, 'signal' | 'isHeld' | 'remainingMs'>;

export interface Ending {
  /** The exit code of the command. */
  readonly exitCode: number;
  readonly wasLost: boolean;
}

export class Supervisor {
  readonly #lease: SupervisedLease;
  readonly #group: ChildGroup;
  readonly #guard: Guard;
  readonly #terms: SupervisorTerms;
  readonly #reserveMs: number;
  #checkTimer: NodeJS.Timeout | undefined;
  #killTimer: NodeJS.Timeout | undefined;
  #isEnding = false;
  #wasLost = false;

  constructor(lease: SupervisedLease, group: ChildGroup, guard: Guard, terms: SupervisorTerms) {
    this.#lease = lease;
    this.#group = group;
    this.#guard = guard;
    this.#terms = terms;
    this.#reserveMs = terms.graceMs + KILL_MARGIN_MS;
  }

  /** Passes a signal to the command. SIGTERM also starts the grace, because it asks us to end too. */
  forward(signal: NodeJS.Signals): void {
    if (signal === 'SIGTERM' && !this.#isEnding) this.#end();
    else this.#group.signal(signal);
  }

  /** Starts the command. Resolves when the command has exited; in `ending`, when its whole group has. */
  async finish(): Promise<Ending> {
    const lose = (): void => this.#lose();
    this.#lease.signal.addEventListener('abort', lose);
    // Before the command is started: if we are killed in between, the guard must already know the group and its limit.
    this.#guard.watch(this.#group.pid);
    this.#check();
    this.#group.begin();
    const exitCode = await this.#group.exited;
    // The guard ended the command while this process was stopped: the lock was lost.
    if (!this.#isEnding && this.#leftMs <= 0 && exitCode !== 0) this.#wasLost = true;
    while (this.#isEnding && this.#group.isAlive) await sleep(GROUP_POLL_MS);
    clearTimeout(this.#checkTimer);
    clearTimeout(this.#killTimer);
    this.#guard.dismiss();
    this.#lease.signal.removeEventListener('abort', lose);
    return { exitCode, wasLost: this.#wasLost || !this.#lease.isHeld };
  }

  get #leftMs(): number {
    return this.#lease.remainingMs - this.#reserveMs;
  }

  #check(): void {
    if (this.#isEnding) return;
    const leftMs = this.#leftMs;
    if (leftMs <= 0) {
      this.#lose();
      return;
    }
    this.#guard.allow(leftMs + GUARD_DELAY_MS);
    const nextMs = Math.min(leftMs, this.#terms.leaseMs / CHECKS_PER_LEASE, TIMER_MS_MAX);
    this.#checkTimer = setTimeout(() => this.#check(), Math.ceil(nextMs));
  }

  #lose(): void {
    this.#wasLost = true;
    if (!this.#isEnding) this.#end();
  }

  #end(): void {
    this.#isEnding = true;
    this.#guard.allowLast(this.#terms.graceMs + GUARD_DELAY_MS);
    this.#group.signal('SIGTERM');
    this.#killTimer = setTimeout(() => this.#group.signal('SIGKILL'), this.#terms.graceMs);
  }
}
