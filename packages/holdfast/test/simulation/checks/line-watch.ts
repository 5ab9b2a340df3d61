/**
 * Watches the line of waiters on a node, script by script:
 *
 * - order: a free key is given to nobody while a ticket before it lives and hears, and to none of ours in a guests' window but
 *   to one that says that it does not hear;
 * - served: no script that has the line leaves a free key behind it while somebody in the line hears;
 * - left: a ticket whose time is over is not passed over and kept.
 */
import type { ScriptCall } from '../../../src/index.ts';
import type { SimulatedNode } from '../world/simulated-node.ts';
import type { Judge } from './judge.ts';
import { type LineState, type LineTicket, lineOf } from './line-state.ts';

/** The scripts that end with settling the line. */
const SETTLING = ['lock.acquire', 'lock.release', 'mutex.acquire', 'mutex.release'];

/** The longest window for guests: a moment further off is of a clock that was set back. */
const WINDOW_MS_MAX = 80;

/** And so is a deadline that is further off than this. */
const DEADLINE_MS_MAX = 60_000;

const LATE = 'LATE';

export class LineWatch {
  readonly #judge: Judge;
  readonly #isOurs: (holder: string) => boolean;
  #before: LineState | null = null;

  constructor(judge: Judge, isOurs: (holder: string) => boolean) {
    this.#judge = judge;
    this.#isOurs = isOurs;
  }

  /** A script is about to run. */
  arrived(node: SimulatedNode, { script, keys }: ScriptCall): void {
    this.#before = SETTLING.includes(script.name) ? lineOf(node, keys[0] as string) : null;
  }

  /** It has run, and this is the outcome in words. */
  served(node: SimulatedNode, call: ScriptCall, outcome: string): void {
    const { keys } = call;
    const before = this.#before;
    this.#before = null;
    // Refused without a look at the line.
    if (before === null || outcome.startsWith(LATE)) return;
    const name = keys[0] as string;
    const after = lineOf(node, name);
    if (after.owner === null) this.#checkSettled(node, name, after);
    else if (after.owner !== before.owner && this.#isOurs(after.owner)) {
      const isGuest = before.owner === null && isOpen(before, node.state.nowMs) && isDeaf(call, after.owner);
      if (!isGuest) this.#checkTurn(node, name, before, after.owner);
    }
  }

  #checkTurn(node: SimulatedNode, name: string, before: LineState, owner: string): void {
    const { nowMs } = node.state;
    if (before.owner === null && isOpen(before, nowMs))
      this.#judge.condemn('order', `${name} was taken by ${owner} while it was left to guests`);
    const own = before.tickets.find(({ holder }) => holder === owner);
    for (const ticket of before.tickets) {
      if (own !== undefined && ticket.place >= own.place) break;
      // A holder that releases takes its ticket out first.
      if (!isAlive(ticket, nowMs)) this.#checkDropped(node, name, ticket);
      else if (ticket.isHeard && lineOf(node, name).tickets.some(({ holder }) => holder === ticket.holder))
        this.#judge.condemn('order', `${owner} got ${name} before ${ticket.holder}, which was ahead in line`);
    }
  }

  #checkDropped(node: SimulatedNode, name: string, { holder }: LineTicket): void {
    const { nowMs } = node.state;
    const kept = lineOf(node, name).tickets.find((ticket) => ticket.holder === holder);
    if (kept !== undefined && !isAlive(kept, nowMs))
      this.#judge.condemn('left', `${name}: the ticket of ${holder} is over, and was kept`);
  }

  #checkSettled(node: SimulatedNode, name: string, state: LineState): void {
    const { nowMs } = node.state;
    if (isOpen(state, nowMs)) return;
    const forgotten = state.tickets.find((ticket) => ticket.isHeard && isAlive(ticket, nowMs));
    if (forgotten !== undefined)
      this.#judge.condemn('served', `${name} was left free, and ${forgotten.holder} waits in line and hears`);
  }
}

/** Whether the call is an ask of that holder that says that it does not hear. */
function isDeaf({ args }: ScriptCall, holder: string): boolean {
  return args[0] === holder && /^\S+ \d+ nl? /.test(args.at(-1) ?? '');
}

function isOpen({ openUntilMs }: LineState, nowMs: number): boolean {
  return openUntilMs > nowMs && openUntilMs - nowMs <= WINDOW_MS_MAX;
}

function isAlive({ deadlineMs }: LineTicket, nowMs: number): boolean {
  return deadlineMs >= nowMs && deadlineMs <= nowMs + DEADLINE_MS_MAX;
}
