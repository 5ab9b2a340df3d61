/** Mistakes in the shipped code: methods are replaced in the process that plays the world, and put back after. */

import type { Clock } from '../../../src/index.ts';
import { Hold } from '../../../src/locking/hold.ts';
import { WaitLoop } from '../../../src/locking/waiting/wait-loop.ts';
import { Holders } from '../../../src/topologies/server/holders.ts';
import { Server } from '../../../src/topologies/server/server.ts';
import type { Machine } from '../world/machine.ts';
import type { PlantedBug } from './bug.ts';

/** Replaces one method; returns how to put it back. */
export function replace<Owner extends object, Name extends keyof Owner>(
  owner: Owner,
  name: Name,
  wrong: (right: Owner[Name]) => Owner[Name],
): () => void {
  const right = owner[name];
  owner[name] = wrong(right);
  return () => {
    owner[name] = right;
  };
}

/** The same machine, with some of its clock told differently. */
function wrongClock(machine: Machine, parts: Partial<Clock>): Clock {
  return {
    monotonicMs: () => machine.monotonicMs(),
    wallMs: () => machine.wallMs(),
    startTimer: (delayMs, fire) => machine.startTimer(delayMs, fire),
    ...parts,
  };
}

const SLOW = 0.96;

export const CODE_BUGS: readonly PlantedBug[] = [
  {
    name: 'validity counted after the reply',
    breaks: ['exclusion', 'counter'],
    patch: () =>
      replace(
        Server.prototype,
        'acquire',
        (right) =>
          async function acquire(this: Server, ...args) {
            const result = await right.apply(this, args);
            if (result.is !== 'granted') return result;
            // The whole lease, from a moment that is as late as the reply may have been.
            const lateMs = args[2];
            const { monotonicMs, wallMs } = result.deadline;
            return { ...result, deadline: { monotonicMs: monotonicMs + lateMs, wallMs: wallMs + lateMs } };
          },
      ),
  },
  {
    name: 'deadline not looked at',
    breaks: ['exclusion', 'counter', 'told'],
    patch: () =>
      replace(
        Hold.prototype,
        'isValid',
        () =>
          function isValid(this: Hold) {
            return this.isLive;
          },
      ),
  },
  {
    name: 'loss told late',
    breaks: ['told'],
    clock: (machine) =>
      wrongClock(machine, { startTimer: (delayMs, fire) => machine.startTimer(delayMs + 25, fire) }),
  },
  {
    name: 'no clean-up',
    breaks: ['left'],
    faults: ['cut', 'stall'],
    terms: { kind: 'lock', leasesMs: [30_000] },
    patch: () => replace(Holders.prototype, 'abandon', () => () => {}),
  },
  {
    name: 'message during an attempt forgotten',
    breaks: ['served'],
    // In a line every message is followed by an ask anyway, within a claim or soon after it.
    nodes: 3,
    faults: ['slow network'],
    terms: { hasSubscriber: true, leasesMs: [10_000], worksMs: [0, 5, 20], pausesMs: [0, 1, 5] },
    patch: () =>
      replace(
        WaitLoop.prototype as WaitLoop<{ readonly is: 'granted' }>,
        'hear',
        (right) =>
          function hear(this: WaitLoop<{ readonly is: 'granted' }>, message) {
            if (!this.isAttempting) right.call(this, message);
          },
      ),
  },
  {
    name: 'sleep of the machine not noticed',
    breaks: ['exclusion', 'counter', 'told'],
    faults: ['suspend'],
    terms: { leasesMs: [500, 1_000], worksMs: [50, 700] },
    clock: (machine) => wrongClock(machine, { wallMs: () => 1_893_456_000_000 + machine.monotonicMs() }),
  },
  {
    name: 'no margin for drift',
    breaks: ['exclusion', 'counter', 'told'],
    clock: (machine) =>
      wrongClock(machine, {
        monotonicMs: () => machine.monotonicMs() * SLOW,
        wallMs: () => machine.wallMs() * SLOW,
        startTimer: (delayMs, fire) => machine.startTimer(delayMs / SLOW, fire),
      }),
  },
];
