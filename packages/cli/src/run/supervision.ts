/**
 * Watches over a command that runs under a lock, until nobody of its group is left that must not be.
 *
 * - `running`: the lease is renewed in the background. Out: the command ends; the time left is no longer enough to end
 *   the group in good order (`ending`, lost); the server says that the lock is not ours (`ending`, lost); we are told to
 *   end (`ending`).
 * - `ending`: the group has had its SIGTERM. After the grace it gets SIGKILL. Out: nobody of the group is left.
 *
 * The lease is worth `reserveMs` less to the command than to us: in that time the group is ended, before the server
 * can let anybody else in.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Lease } from 'holdfast';
import { TIMER_MS_MAX } from '../duration.ts';
import type { ChildGroup } from './child-group.ts';
import type { Guard } from './guard.ts';

/** From SIGKILL to the end of the last process, on a busy machine; and for the guard, who fires a little later. */
const KILL_MARGIN_MS = 250;
/** The guard acts only where we do not. */
const GUARD_DELAY_MS = 50;
/** We look this many times in a lease, twice as often as it is renewed. */
const LOOKS_PER_LEASE = 6;
const GROUP_POLL_MS = 10;

/** The longest grace that a lease has room for. Half of it stays for renewals that fail at first. */
export function graceMsMax(leaseMs: number): number {
  return Math.floor(leaseMs / 2) - KILL_MARGIN_MS;
}

export interface SupervisionTerms {
  readonly leaseMs: number;
  readonly graceMs: number;
}

export interface Ending {
  /** Of the command. */
  readonly exitCode: number;
  readonly wasLost: boolean;
}

export class Supervision {
  readonly #lease: Lease;
  readonly #group: ChildGroup;
  readonly #guard: Guard;
  readonly #terms: SupervisionTerms;
  readonly #reserveMs: number;
  #lookTimer: NodeJS.Timeout | undefined;
  #killTimer: NodeJS.Timeout | undefined;
  #isEnding = false;
  #wasLost = false;

  constructor(lease: Lease, group: ChildGroup, guard: Guard, terms: SupervisionTerms) {
    this.#lease = lease;
    this.#group = group;
    this.#guard = guard;
    this.#terms = terms;
    this.#reserveMs = terms.graceMs + KILL_MARGIN_MS;
  }

  /** Passes a signal on. SIGTERM also starts the grace: we were asked to end, not only the command. */
  forward(signal: NodeJS.Signals): void {
    if (signal === 'SIGTERM' && !this.#isEnding) this.#end();
    else this.#group.signal(signal);
  }

  /** Lets the command begin. Resolves when it has ended, and after a SIGTERM when its whole group has. */
  async finish(): Promise<Ending> {
    const lose = (): void => this.#lose();
    this.#lease.signal.addEventListener('abort', lose);
    // The guard knows of the group, and how long it may live, before there is a command that could outlive us.
    this.#guard.watch(this.#group.pid);
    this.#look();
    this.#group.begin();
    const exitCode = await this.#group.exited;
    // A command that was ended by the guard, while we stood still, ended because the lock was lost.
    if (!this.#isEnding && this.#leftMs <= 0 && exitCode !== 0) this.#wasLost = true;
    while (this.#isEnding && this.#group.isAlive) await sleep(GROUP_POLL_MS);
    clearTimeout(this.#lookTimer);
    clearTimeout(this.#killTimer);
    this.#guard.dismiss();
    this.#lease.signal.removeEventListener('abort', lose);
    return { exitCode, wasLost: this.#wasLost || !this.#lease.isHeld };
  }

  get #leftMs(): number {
    return this.#lease.remainingMs - this.#reserveMs;
  }

  #look(): void {
    if (this.#isEnding) return;
    const leftMs = this.#leftMs;
    if (leftMs <= 0) {
      this.#lose();
      return;
    }
    this.#guard.allow(leftMs + GUARD_DELAY_MS);
    const nextMs = Math.min(leftMs, this.#terms.leaseMs / LOOKS_PER_LEASE, TIMER_MS_MAX);
    this.#lookTimer = setTimeout(() => this.#look(), Math.ceil(nextMs));
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
